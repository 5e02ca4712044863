/* A stack that does what stacks under test do wrong, by its first argument. */
#include "narrows_endpoint.h"
#include <stdio.h>
#include <string.h>

static const char *fault;
static uint64_t arrived;

static void handle(void *state, uint64_t now, const uint8_t *datagram, size_t length, uint8_t ecn)
{
	(void)state, (void)now, (void)datagram, (void)ecn;
	arrived += length;
}

static void timeout(void *state, uint64_t now)
{
	(void)state, (void)now;
}

static size_t transmit(void *state, uint64_t now, uint8_t *datagram, size_t room,
		       struct narrows_transmit *transmit)
{
	static int left;
	(void)state, (void)now, (void)room;
	if (strcmp(fault, "endless") != 0 && left++ > 3)
		return 0;
	if (strcmp(fault, "ecn") == 0)
		transmit->ecn = 9;
	memset(datagram, 1, 1000);
	return 1000;
}

static uint64_t wakes(void *state)
{
	(void)state;
	return NARROWS_NEVER;
}

static void tell(void *state, struct narrows_told *told)
{
	if (state)
		told->delivered = strcmp(fault, "liar") == 0 ? 3 * arrived + 1 : arrived;
}

static int make(void *context, uint64_t seed, uint64_t size, struct narrows_endpoint *near_end,
		struct narrows_endpoint *far_end)
{
	(void)context, (void)seed, (void)size;
	*near_end = (struct narrows_endpoint){ NULL, handle, timeout, transmit, wakes, tell, NULL };
	*far_end = *near_end;
	far_end->state = &arrived;
	return 0;
}

int main(int count, char **arguments)
{
	fault = count > 1 ? arguments[1] : "";
	char *said = narrows_run("duration = \"2s\"\n[dumbbell]\nrate = \"20Mbps\"\nrtt = \"40ms\"\n"
				 "buffer = \"1bdp\"\n[[flows]]\nhost = \"toy\"\n",
				 "toy", make, NULL, 1);
	puts(said);
	narrows_free(said);
	return 0;
}
