/* What examples of stacks have in common: judging a controller, and the addresses of two ends. */
#ifndef JUDGE_H
#define JUDGE_H

#include "narrows_endpoint.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define LARGEST 1452                 /* bytes of a datagram's payload */
#define WINDOW (UINT64_C(16) << 20)  /* of flow control: it limits nothing */

/* Numbers that a seed decides; the door calls from one thread at a time. */
static uint64_t numbers = 1;

static void next_numbers(void *bytes, size_t length)
{
	for (uint8_t *it = bytes; length > 0; length--) {
		numbers ^= numbers << 13;
		numbers ^= numbers >> 7;
		numbers ^= numbers << 17;
		*it++ = (uint8_t)(numbers >> 32);
	}
}

static void seed_numbers(uint64_t seed)
{
	numbers = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

/* The address of the near end or of the far one, which is never looked at. */
static struct sockaddr_in address(int is_near)
{
	struct sockaddr_in it = { .sin_family = AF_INET, .sin_port = htons(is_near ? 40000 : 4433) };
	it.sin_addr.s_addr = htonl(is_near ? 0x0a000001 : 0x0a000002);
	return it;
}

/* Bytes that an application may write now: of `size`, 0 for no end, less what it has written. */
static inline uint64_t ready(const struct narrows_offers *offers, uint64_t now, uint64_t size,
			     uint64_t written)
{
	uint64_t end = offers ? narrows_offered(offers, now, NULL) : UINT64_MAX;
	if (size != 0 && size < end)
		end = size;
	return end > written ? end - written : 0;
}

/* Judges `cc` of a stack called `name` as what `as` says by the checks of `only`: prints what was
 * found as JSON, and returns 1 if one fails, 2 if it could not be run. */
static int judge(const char *name, narrows_make make, const char *cc, const char *as,
		 const char *only)
{
	char *said = narrows_conform(as, only, "quic", name, make, (void *)cc);
	puts(said);
	int outcome = strstr(said, "{\"error\":") == said ? 2 : strstr(said, "\"fails\":0") ? 0 : 1;
	narrows_free(said);
	return outcome;
}

#endif
