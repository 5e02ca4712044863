/* narrows' networks for stacks in C: an end of a flow is four functions, and one that tells.
 *
 * Times are nanoseconds from the beginning of the run. Nothing here waits. Everything is called from
 * one thread at a time, but not always the same: a run has a thread of its own. SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef NARROWS_ENDPOINT_H
#define NARROWS_ENDPOINT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* No time: only a datagram can wake an end. */
#define NARROWS_NEVER UINT64_MAX

/* The two ECN bits of the IP header (RFC 3168, section 5). */
enum narrows_ecn { NARROWS_NOT_ECT = 0, NARROWS_ECT_1 = 1, NARROWS_ECT_0 = 2, NARROWS_CE = 3 };

/* How a datagram leaves. It comes as the payload of UDP that leaves at once and is not marked. */
struct narrows_transmit {
	uint64_t not_before; /* it leaves no earlier; 0 for at once */
	uint32_t headers;    /* bytes before it on the wire: 28 for UDP over IPv4, 0 for an IP packet */
	uint8_t ecn;         /* whether queues may mark it */
};

/* What an end says of itself. It comes filled with zeros, which say nothing. */
struct narrows_told {
	uint64_t delivered; /* bytes that its application has received in order */
	uint64_t window;    /* congestion window in bytes; 0 if it does not say */
	uint64_t in_flight; /* bytes in flight; 0 if it does not say */
	uint64_t rtt;       /* smoothed RTT in nanoseconds; 0 if it does not say */
	uint64_t lost;      /* datagrams that it holds for lost, plus one; 0 if it does not say */
	const char *ended;  /* why it has ended; NULL if it has not. Its memory stays the end's. */
	uint8_t complete;   /* 1 if its application has received all that there was */
};

/* One end of a flow. Data goes from the near end to the far end. */
struct narrows_endpoint {
	void *state;
	/* A datagram arrives. */
	void (*handle)(void *state, uint64_t now, const uint8_t *datagram, size_t length, uint8_t ecn);
	/* The flow begins, or a time that poll_timeout gave has come. */
	void (*handle_timeout)(void *state, uint64_t now);
	/* Writes the next datagram that leaves at `now` to `datagram`, which has room for `room` bytes,
	 * and returns its length; 0 if there is none. Asked until there is none. */
	size_t (*poll_transmit)(void *state, uint64_t now, uint8_t *datagram, size_t room,
				struct narrows_transmit *transmit);
	/* Returns when to wake it; NARROWS_NEVER if only a datagram can. */
	uint64_t (*poll_timeout)(void *state);
	/* Says what there is to say; may be NULL. */
	void (*tell)(void *state, struct narrows_told *told);
	/* Frees `state`; may be NULL. */
	void (*drop)(void *state);
};

/* Makes the two ends of a flow: `size` is the bytes to transfer, 0 for no end. Returns 0 if that
 * worked; if not, whatever it made is its own to free. It may be called more often than there are flows, to see whether it works. */
typedef int (*narrows_make)(void *context, uint64_t seed, uint64_t size,
			    struct narrows_endpoint *near_end, struct narrows_endpoint *far_end);

/* How many bytes the application of a flow has offered so far: its near end sends no more, and is
 * woken when there are more. */
struct narrows_offers;

/* Called from narrows_make, returns the offers of the flow whose ends are made, which live as long
 * as one of these does; NULL if all is offered at once. */
const struct narrows_offers *narrows_offers(void);

/* Returns the bytes that have been offered by `now`; UINT64_MAX if there is no end of them. `next`,
 * which may be NULL, becomes the time at which there are more, NARROWS_NEVER if there never are. */
uint64_t narrows_offered(const struct narrows_offers *offers, uint64_t now, uint64_t *next);

/* Runs a scenario, the text of a TOML file whose flows may say host = "NAME", under `seed`. Returns
 * what happened as JSON text, or an error as the text {"error": "..."}; to be freed with
 * narrows_free. Never NULL. "times" of a flow is a hash of when what left its near end: equal in two
 * runs if they were the same. A stack that never stops sending, or that says that more was delivered
 * than has arrived, is stopped with its name. */
char *narrows_run(const char *scenario, const char *name, narrows_make make, void *context,
		  uint64_t seed);

/* Judges the controller of a stack from what is on the wire, as `as`: "reno", "cubic", "bbr",
 * "bbr1", "dctcp", "prague", or "any" for what is asked of all. `only` names the checks: "T1", "D*",
 * "timeouts", several between commas, or "all". `transport` is "quic" or "tcp". Returns JSON text
 * with `rows`, of which each has `id`, `finding` ("holds", "fails", "differs", "info", "undecided",
 * "not asked"), `seen`, `bound`, `source` and `asks`, and with `fails`, their number; or an error as
 * above. Everything is called from one thread at a time. */
char *narrows_conform(const char *as, const char *only, const char *transport, const char *name,
		      narrows_make make, void *context);

/* Returns the checks that there are as JSON text, a list of objects with `id`, `name`, `group`,
 * `word`, `source` and `asks`; to be freed. */
char *narrows_checks(void);

/* Frees what the others returned. */
void narrows_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
