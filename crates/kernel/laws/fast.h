/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
/* FAST TCP (Jin, Wei, Low, INFOCOM 2004, §IV), as crates/control/src/laws/fast.rs. */
#pragma once
#include "fixed.h"


struct fast_settings {
	u64 alpha;        /* packets kept in queues, at most 10^6 */
	u64 gamma;        /* share of the way to the target, at most 1 */
	u64 mi_threshold; /* queueing delay below which the window doubles, in us, 20 bits behind the point */
};

struct fast {
	u64 average; /* RTT in us, 20 bits behind the point, below 2^44; 0 until there is a sample */
	u64 base;    /* the smallest RTT in us */
	u64 round;   /* whether the last acknowledgement ended a round trip */
};

static __always_inline void fast_start(const struct fast_settings *s, struct fast *law)
{
	law->average = 0;
	law->base = 0;
	law->round = 0;
}

/* RTT + eta(T - RTT) with eta = min(3/W, 1/4) (§IV-A). */
static __always_inline void fast_observe(const struct fast_settings *s, struct fast *law,
					 const struct event *e, u64 window)
{
	u64 latest = (u64)e->rtt << 20, eta;

	law->round = e->round;
	if (!e->rtt)
		return;
	if (!law->base || e->least < law->base)
		law->base = e->least;
	eta = least(ratio(3 * ONE, window), ONE / 4);
	if (!law->average)
		law->average = latest;
	else if (latest >= law->average)
		law->average += times(latest - law->average, eta);
	else
		law->average -= times(law->average - latest, eta);
}

/* min(2W, (1 - gamma)W + gamma(base/RTT * W + alpha)) once a round trip (§IV-B, eq. 6); W + n while
 * queues are short (CUBINlab).
 */
static __always_inline u64 fast_increase(const struct fast_settings *s, struct fast *law,
					 const struct event *e, u64 window)
{
	u64 base = law->base << 20, target;

	if (!law->average)
		return window;
	if (law->average < base + s->mi_threshold)
		return window + e->acked * ONE;
	if (!law->round)
		return window;
	target = times(window, least(ratio(base, law->average), ONE)) + s->alpha;
	target = window - times(window, s->gamma) + times(target, s->gamma);
	return most(least(2 * window, target), ONE);
}

/* W/2 (§IV-C). */
static __always_inline u64 fast_decrease(const struct fast_settings *s, struct fast *law, u64 now,
					 u64 window)
{
	return window / 2;
}
