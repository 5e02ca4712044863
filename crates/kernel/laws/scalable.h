/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
/* Scalable TCP (Kelly, CCR 33, 2003), as crates/control/src/laws/scalable.rs. */
#pragma once
#include "fixed.h"

struct scalable_settings {
	u64 a; /* packets for each packet acknowledged, at most 1 */
	u64 b; /* share given up, below 1 */
};

struct scalable {
	u64 unused;
};

static __always_inline void scalable_start(const struct scalable_settings *s, struct scalable *law)
{
	law->unused = 0;
}

/* W + n*a (§3.2, eq. 5), or Reno's n/W if that is more. */
static __always_inline u64 scalable_increase(const struct scalable_settings *s,
					     struct scalable *law, const struct event *e, u64 window)
{
	return window + most(e->acked * s->a, ratio(e->acked * ONE, window));
}

/* W - b*W (§3.2, eq. 6). */
static __always_inline u64 scalable_decrease(const struct scalable_settings *s,
					     struct scalable *law, u64 now, u64 window)
{
	return window - times(window, s->b);
}
