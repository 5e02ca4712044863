/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
/* LTCP (Bhandarkar, Jain, Reddy, §III, §IV), as crates/control/src/laws/ltcp.rs. */
#pragma once
#include "fixed.h"

struct ltcp_settings {
	u64 w_t;       /* where the second layer begins, at most 10^6 packets */
	u64 beta;      /* share given up, below 1 */
	u64 alpha;     /* W_K / W_(K-1) of the alternate rule, at most 2^8; 0 for the rule of §IV */
	u64 by_layer;  /* whether beta is of W_K */
};

struct ltcp {
	u64 from;  /* W_K, 0 for the first layer */
	u64 to;    /* W_(K+1), below 2^61 */
	u64 layer; /* K, from 1; at most 182, as W_K is at least (K^3 - K)/6 packets */
};

static __always_inline void ltcp_start(const struct ltcp_settings *s, struct ltcp *law)
{
	law->layer = 1;
	law->from = 0;
	law->to = s->w_t;
}

/* One layer up: W_K = K(K+1)(K-1)/6 * W_T (eq. 10), or alpha * W_(K-1) (§IV-A). K(K+1)(K-1) is
 * below 2^23, and W_K/W_(K-1) at most 4; so is the product with W_T, as W_(K-1) <= 10^6 packets.
 */
static __always_inline void ltcp_climb(const struct ltcp_settings *s, struct ltcp *law)
{
	u64 k = law->layer + 2;

	law->from = law->to;
	law->layer++;
	if (!s->alpha)
		law->to = k * (k + 1) * (k - 1) / 6 * s->w_t;
	else
		law->to = law->from * (s->alpha >> 32) + times(law->from, s->alpha & (ONE - 1));
}

/* K with W_K <= W < W_(K+1) (eq. 1). */
static __always_inline void ltcp_settle(const struct ltcp_settings *s, struct ltcp *law, u64 window)
{
	if (window < law->from)
		ltcp_start(s, law);
	for (u32 i = 0; i < 192 && window >= law->to; i++)
		ltcp_climb(s, law);
}

/* W + nK/W (§III; §IV-B). */
static __always_inline u64 ltcp_increase(const struct ltcp_settings *s, struct ltcp *law,
					 const struct event *e, u64 window)
{
	ltcp_settle(s, law, window);
	return window + gain(e->acked, law->layer * ONE, window);
}

/* W - beta*W (eq. 4), or W - beta*W_K; half at one layer (§III). */
static __always_inline u64 ltcp_decrease(const struct ltcp_settings *s, struct ltcp *law, u64 now,
					 u64 window)
{
	ltcp_settle(s, law, window);
	if (law->layer == 1)
		window -= window / 2;
	else
		window -= times(s->by_layer ? law->from : window, s->beta);
	ltcp_settle(s, law, window);
	return window;
}
