/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
/* HighSpeed TCP (RFC 3649, §5), as crates/control/src/laws/highspeed.rs. Logarithms are of base 2. */
#pragma once
#include "fixed.h"

struct highspeed_settings {
	u64 low_window;  /* packets up to which the law is Reno's */
	u64 high_window; /* packets beyond which a and b stay as they are */
	u64 low_log;     /* log2 of low_window */
	u64 log_span;    /* log2 of high_window/low_window, above 0 and below 20 */
	u64 low_loss;    /* -log2 of p(low_window), below 64 */
	u64 loss_span;   /* log2 of p(low_window)/high_p, below 64 */
	u64 decrease;    /* 1/2 - high_decrease, below 1/2 */
};

struct highspeed {
	u64 computed_for; /* the window that `a` was computed for */
	u64 a;            /* packets a round trip */
};

static __always_inline void highspeed_start(const struct highspeed_settings *s,
					    struct highspeed *law)
{
	law->computed_for = 0;
	law->a = ONE;
}

/* Where log(window) lies between those of low_window (0) and high_window (1). */
static __always_inline u64 highspeed_way(const struct highspeed_settings *s, u64 log)
{
	return log <= s->low_log ? 0 : least(ratio(log - s->low_log, s->log_span), ONE);
}

/* b(w) (§5, eq. 3). */
static __always_inline u64 highspeed_b(const struct highspeed_settings *s, u64 way)
{
	return ONE / 2 - times(way, s->decrease);
}

/* a(w) = w^2 p(w) 2b/(2 - b) (§5, eq. 4), with log p(w) of eq. 2. */
static __always_inline u64 highspeed_a(const struct highspeed_settings *s, u64 window)
{
	u64 log, way, loss, b;

	if (window <= s->low_window)
		return ONE;
	log = log2_of(least(window, s->high_window), 32);
	way = highspeed_way(s, log);
	loss = s->low_loss + times(s->loss_span, way);
	b = highspeed_b(s, way);
	if (2 * log <= loss)
		return ONE;
	return most(times(exp2_of(2 * log - loss), ratio(2 * b, 2 * ONE - b)), ONE);
}

/* W + n*a(W)/W; a is computed again when the window has moved by a packet. */
static __always_inline u64 highspeed_increase(const struct highspeed_settings *s,
					      struct highspeed *law, const struct event *e,
					      u64 window)
{
	u64 moved = window > law->computed_for ? window - law->computed_for :
						 law->computed_for - window;

	if (moved >= ONE) {
		law->computed_for = window;
		law->a = highspeed_a(s, window);
	}
	return window + gain(e->acked, law->a, window);
}

/* (1 - b(W))W. */
static __always_inline u64 highspeed_decrease(const struct highspeed_settings *s,
					      struct highspeed *law, u64 now, u64 window)
{
	u64 way = 0;

	if (window > s->low_window)
		way = highspeed_way(s, log2_of(least(window, s->high_window), 32));
	return window - times(window, highspeed_b(s, way));
}
