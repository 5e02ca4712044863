/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
/* E-TCP, the rate law (Gu, Towsley, Hollot, Zhang, §VII-A), as crates/control/src/laws/etcp_rate.rs.
 */
#pragma once
#include "etcp_start.h"

/* A rate has 20 bits behind the point; 10^6 packets in 10 us are below 2^57. */
#define ETCP_RATE_ONE (1ull << 20)

struct etcp_rate {
	u64 rate;    /* packets a second; 0 until there is an RTT */
	u64 initial; /* the initial window in packets */
	u64 phase;   /* enum etcp_phase */
};

static __always_inline void etcp_rate_start(const struct etcp_settings *s, struct etcp_rate *law,
					    u64 window, u32 past_threshold)
{
	law->rate = 0;
	law->initial = window;
	law->phase = past_threshold ? ETCP_AVOIDS : ETCP_STARTS;
}

/* The RTT that the law goes by, in us. */
static __always_inline u64 etcp_rate_rtt(const struct etcp_settings *s, u32 rtt)
{
	return most((u64)rtt * (s->rtt_scale >> 16) >> 16, 1);
}

/* packets / rtt, packets a second; packets have 32 bits behind the point and are below 2^53. */
static __always_inline u64 etcp_rate_of(u64 packets, u64 rtt)
{
	u64 whole = packets / rtt, rest = packets % rtt; /* a us, 32 bits behind the point */

	return (whole >> 12) * 1000000 + ((whole & 0xfff) * 1000000 >> 12) +
	       (rest * 1000000 / rtt >> 12);
}

/* At least a packet a round trip, at most MOST_WINDOW. */
static __always_inline void etcp_rate_set(struct etcp_rate *law, u64 rate, u32 rtt)
{
	law->rate = clamped(rate, etcp_rate_of(ONE, rtt), etcp_rate_of(MOST_WINDOW, rtt));
}

/* x + n/(b*rtt) (§VII-A), x + n/rtt in slow start (§V-A). `is_new` as of etcp_next. */
static __always_inline void etcp_rate_ack(const struct etcp_settings *s, struct etcp_rate *law,
					  const struct event *e, u32 is_new)
{
	u64 rtt = etcp_rate_rtt(s, e->rtt), packets = e->acked * ONE;

	if (!e->rtt)
		return;
	if (!law->rate)
		law->rate = etcp_rate_of(law->initial, rtt);
	law->phase = etcp_next(law->phase, is_new);
	if (law->phase == ETCP_STARTS)
		law->rate += etcp_rate_of(packets, rtt);
	else if (law->phase == ETCP_AVOIDS)
		law->rate += etcp_rate_of(ratio(packets, s->b), rtt);
	law->rate = least(law->rate, etcp_rate_of(MOST_WINDOW, e->rtt));
}

/* x/(b*rtt*(2 + p0*x)) (§VII-A), or more than x if that is more. */
static __always_inline u64 etcp_rate_fall(const struct etcp_settings *s, u64 x, u64 rtt)
{
	u64 sum = 2 * ETCP_RATE_ONE + times(x, s->p0), share;

	if (sum >> 52) { /* both lose bits that do not count */
		share = divided(x >> 8, sum >> 8, 20);
	} else {
		share = divided(x, sum, 20);
	}
	share = ratio(share, s->b);
	if (share / rtt >= 1ull << 43)
		return TOO_MUCH;
	return share / rtt * 1000000 + share % rtt * 1000000 / rtt;
}

/* A packet was lost: half at the end of slow start (§V-A). */
static __always_inline void etcp_rate_loss(const struct etcp_settings *s, struct etcp_rate *law,
					   u32 rtt)
{
	u64 fall = 0;

	if (rtt && law->phase == ETCP_STARTS)
		fall = law->rate / 2;
	else if (rtt && law->phase == ETCP_AVOIDS)
		fall = etcp_rate_fall(s, law->rate, etcp_rate_rtt(s, rtt));
	law->phase = etcp_after_loss(law->phase);
	if (rtt && law->rate)
		etcp_rate_set(law, law->rate - least(fall, law->rate), rtt);
}

/* Half, if it opens an epoch. */
static __always_inline void etcp_rate_timeout(const struct etcp_settings *s, struct etcp_rate *law,
					      u32 opens, u32 rtt)
{
	law->phase = ETCP_AVOIDS;
	if (opens && rtt && law->rate)
		etcp_rate_set(law, law->rate / 2, rtt);
}

/* x times the RTT, in packets. x*rtt is below 2^57 * 10 in 10 us, as x is at most MOST_WINDOW/rtt. */
static __always_inline u64 etcp_rate_window(const struct etcp_rate *law, u32 rtt)
{
	u64 a_us;

	if (!law->rate || !rtt)
		return law->initial;
	a_us = law->rate / 1000000 * rtt; /* 20 bits behind the point */
	a_us += law->rate % 1000000 * rtt / 1000000;
	return clamped(a_us, ONE >> 12, MOST_WINDOW >> 12) << 12;
}
