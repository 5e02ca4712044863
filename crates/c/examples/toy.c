/* A toy stack: additive increase, multiplicative decrease, a number in each datagram. Its receiver
 * answers each; three later answers, or a quarter of a second without any, say that one is lost.
 *
 *   cc toy.c -I ../include -L ../../../target/debug -lnarrows -o toy && ./toy
 *
 * `./toy checks` prints the checks of conformance, `./toy U2` tries one; CMakeLists.txt makes each a
 * test. */
#include "narrows_endpoint.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAYLOAD 1200
#define PATIENCE UINT64_C(250000000)
#define RING 65536

struct sender {
	double window;
	uint64_t next, least, newest, recover, last, now, in_flight, lost, begun;
	uint64_t left; /* datagrams to send */
	uint8_t answered[RING];
};

struct receiver {
	uint64_t answers[RING], head, tail, delivered;
};

static void settle(struct sender *it, uint64_t number, int lost)
{
	it->answered[number % RING] = 1;
	it->in_flight--;
	if (!lost) {
		it->window += 1 / it->window;
		return;
	}
	it->lost++;
	it->left++;
	if (number >= it->recover) {
		it->recover = it->next;
		it->window = it->window > 4 ? it->window / 2 : 2;
	}
}

static void sender_handle(void *state, uint64_t now, const uint8_t *datagram, size_t length,
			  uint8_t ecn)
{
	struct sender *it = state;
	uint64_t number;
	(void)ecn;
	if (length != sizeof number)
		return;
	memcpy(&number, datagram, sizeof number);
	it->last = now;
	if (number >= it->next || number < it->least || it->answered[number % RING])
		return;
	settle(it, number, 0);
	if (number > it->newest)
		it->newest = number;
	for (; it->least < it->next; it->least++) {
		if (it->answered[it->least % RING])
			continue;
		if (it->least + 3 > it->newest)
			break;
		settle(it, it->least, 1);
	}
}

static void sender_timeout(void *state, uint64_t now)
{
	struct sender *it = state;
	it->begun = 1;
	it->now = now;
	if (it->in_flight == 0 || now < it->last + PATIENCE)
		return;
	for (; it->least < it->next; it->least++)
		if (!it->answered[it->least % RING])
			settle(it, it->least, 1);
	it->window = 2;
	it->last = now;
}

static size_t sender_transmit(void *state, uint64_t now, uint8_t *datagram, size_t room,
			      struct narrows_transmit *transmit)
{
	struct sender *it = state;
	(void)transmit;
	if (!it->begun || it->left == 0 || it->in_flight + 1 > it->window || it->next - it->least >= RING ||
	    room < PAYLOAD)
		return 0;
	if (it->in_flight == 0)
		it->last = now;
	memset(datagram, 0, PAYLOAD);
	memcpy(datagram, &it->next, sizeof it->next);
	it->answered[it->next % RING] = 0;
	it->next++;
	it->left--;
	it->in_flight++;
	return PAYLOAD;
}

static uint64_t sender_wakes(void *state)
{
	struct sender *it = state;
	return it->in_flight ? it->last + PATIENCE : NARROWS_NEVER;
}

static void sender_tell(void *state, struct narrows_told *told)
{
	struct sender *it = state;
	told->window = (uint64_t)(it->window * PAYLOAD);
	told->in_flight = it->in_flight * PAYLOAD;
	told->lost = it->lost + 1;
}

static void receiver_handle(void *state, uint64_t now, const uint8_t *datagram, size_t length,
			    uint8_t ecn)
{
	struct receiver *it = state;
	(void)now, (void)ecn;
	memcpy(&it->answers[it->tail++ % RING], datagram, sizeof(uint64_t));
	it->delivered += length;
}

static void receiver_timeout(void *state, uint64_t now)
{
	(void)state, (void)now;
}

static size_t receiver_transmit(void *state, uint64_t now, uint8_t *datagram, size_t room,
				struct narrows_transmit *transmit)
{
	struct receiver *it = state;
	(void)now, (void)transmit;
	if (it->head == it->tail || room < sizeof(uint64_t))
		return 0;
	memcpy(datagram, &it->answers[it->head++ % RING], sizeof(uint64_t));
	return sizeof(uint64_t);
}

static uint64_t receiver_wakes(void *state)
{
	(void)state;
	return NARROWS_NEVER;
}

static void receiver_tell(void *state, struct narrows_told *told)
{
	told->delivered = ((struct receiver *)state)->delivered;
}

static int make(void *context, uint64_t seed, uint64_t size, struct narrows_endpoint *near_end,
		struct narrows_endpoint *far_end)
{
	struct sender *sender = calloc(1, sizeof *sender);
	struct receiver *receiver = calloc(1, sizeof *receiver);
	(void)context, (void)seed;
	if (!sender || !receiver)
		return -1;
	sender->left = size ? (size + PAYLOAD - 1) / PAYLOAD : UINT64_MAX / 2;
	sender->window = 10;
	*near_end = (struct narrows_endpoint){ sender,	      sender_handle, sender_timeout,
					       sender_transmit, sender_wakes,  sender_tell, free };
	*far_end = (struct narrows_endpoint){ receiver,		 receiver_handle, receiver_timeout,
					      receiver_transmit, receiver_wakes,  receiver_tell,
					      free };
	return 0;
}

/* Prints what narrows said, and returns 1 if `wrong` is in it, 77 if it is about what is not asked or
 * could not be decided. */
static int said(char *text, const char *wrong)
{
	puts(text);
	int failed = strstr(text, wrong) != NULL || strstr(text, "{\"error\"") == text;
	int undecided = strstr(text, "\"finding\":\"not asked\"") != NULL ||
			strstr(text, "\"finding\":\"undecided\"") != NULL;
	narrows_free(text);
	return failed ? 1 : undecided ? 77 : 0;
}

int main(int count, char **arguments)
{
	if (count == 2 && strcmp(arguments[1], "checks") == 0)
		return said(narrows_checks(), "\"error\"");
	if (count == 2)
		return said(narrows_conform("any", arguments[1], "quic", "toy", make, NULL),
			    "\"finding\":\"fails\"");
	const char *scenario = "duration = \"20s\"\n"
			       "[dumbbell]\n"
			       "rate = \"20Mbps\"\n"
			       "rtt = \"40ms\"\n"
			       "buffer = \"1bdp\"\n"
			       "[[flows]]\n"
			       "host = \"toy\"\n"
			       "[[flows]]\n"
			       "cc = \"reno\"\n";
	return said(narrows_run(scenario, "toy", make, NULL, 1), "\"error\"");
}
