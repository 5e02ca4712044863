/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
/* BIC-TCP (Xu, Harfoush, Rhee, INFOCOM 2004), as crates/control/src/laws/bic.rs. */
#pragma once
#include "fixed.h"


struct bic_settings {
	u64 beta;             /* share kept, below 1 */
	u64 low_window;       /* packets up to which the law is Reno's */
	u64 max_increment;    /* S_max in packets, at most 10^6 */
	u64 slow;             /* 4/smooth_part, packets a round trip near W_max, at most 1 */
	u64 fast_convergence; /* whether W_max falls if peaks fall */
	u64 delayed_ack;      /* factor on growth, at least 1, at most 16 */
};

struct bic {
	u64 w_max; /* 0 if it is not known */
};

static __always_inline void bic_start(const struct bic_settings *s, struct bic *law)
{
	law->w_max = 0;
}

/* Packets a round trip below W_max: a quarter of the distance (§III-A). */
static __always_inline u64 bic_search(const struct bic_settings *s, const struct bic *law,
				      u64 window)
{
	u64 step = ((law->w_max >> 32) - (window >> 32)) / 4;

	return step <= 1 ? s->slow : least(step * ONE, s->max_increment);
}

/* At W_max and beyond: slow for four packets, then a third of the distance. */
static __always_inline u64 bic_probe(const struct bic_settings *s, const struct bic *law,
				     u64 window)
{
	u64 distance = window - law->w_max;

	return distance < 4 * ONE ? s->slow : least(distance / 3, s->max_increment);
}

/* W + n*step/W (§III-A); Reno's up to low_window (§III-B). */
static __always_inline u64 bic_increase(const struct bic_settings *s, struct bic *law,
					const struct event *e, u64 window)
{
	u64 step;

	if (window <= s->low_window)
		return window + ratio(e->acked * ONE, window);
	step = window < law->w_max ? bic_search(s, law, window) : bic_probe(s, law, window);
	if (!law->w_max)
		step = most(step, window / 20);
	step = step * (s->delayed_ack >> 32) + times(step, s->delayed_ack & (ONE - 1));
	return window + gain(e->acked, least(step, window), window);
}

/* W_max with fast convergence; beta*W, half up to low_window (§III-B). */
static __always_inline u64 bic_decrease(const struct bic_settings *s, struct bic *law, u64 now,
					u64 window)
{
	u64 kept = times(window, s->beta);

	if (s->fast_convergence && window >> 32 < law->w_max >> 32)
		law->w_max = (window + kept) / 2;
	else
		law->w_max = window;
	return window <= s->low_window ? window / 2 : kept;
}

static __always_inline void bic_forget(const struct bic_settings *s, struct bic *law)
{
	law->w_max = 0;
}
