/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
/* E-TCP, the window law (Gu, Towsley, Hollot, Zhang, §III-A), as crates/control/src/laws/etcp.rs. */
#pragma once
#include "etcp_start.h"

struct etcp {
	u64 window; /* packets */
	u64 phase;  /* enum etcp_phase */
};

static __always_inline void etcp_start(const struct etcp_settings *s, struct etcp *law, u64 window,
				       u32 past_threshold)
{
	law->window = window;
	law->phase = past_threshold ? ETCP_AVOIDS : ETCP_STARTS;
}

/* W + n/b (eq. 8), W + n in slow start (§V-A). `is_new` as of etcp_begins. */
static __always_inline void etcp_ack(const struct etcp_settings *s, struct etcp *law,
				     const struct event *e, u32 is_new)
{
	law->phase = etcp_next(law->phase, is_new);
	if (law->phase == ETCP_STARTS)
		law->window += e->acked * ONE;
	else if (law->phase == ETCP_AVOIDS)
		law->window += ratio(e->acked * ONE, s->b);
	law->window = least(law->window, MOST_WINDOW);
}

/* W - W/(b(2 + p0*W)) for a packet lost (eq. 9), half at the end of slow start (§V-A). W/(2 + p0*W)
 * is at most W/2.
 */
static __always_inline void etcp_loss(const struct etcp_settings *s, struct etcp *law, u32 rtt)
{
	u64 fall = 0;

	if (law->phase == ETCP_STARTS)
		fall = law->window / 2;
	else if (law->phase == ETCP_AVOIDS)
		fall = ratio(ratio(law->window, 2 * ONE + times(law->window, s->p0)), s->b);
	law->phase = etcp_after_loss(law->phase);
	law->window = most(law->window - least(fall, law->window), ONE);
}

/* Half, if it opens an epoch. */
static __always_inline void etcp_timeout(const struct etcp_settings *s, struct etcp *law, u32 opens,
					 u32 rtt)
{
	law->phase = ETCP_AVOIDS;
	if (opens)
		law->window = most(law->window / 2, ONE);
}

/* W in packets. */
static __always_inline u64 etcp_window(const struct etcp *law, u32 rtt)
{
	return law->window;
}
