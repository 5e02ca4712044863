/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
/* What both laws of E-TCP share: settings, and the way to congestion avoidance (E-TCP, §V-A). */
#pragma once
#include "fixed.h"

struct etcp_settings {
	u64 p0;        /* the loss rate above which the bottleneck is kept, below 1 */
	u64 b;         /* packets acknowledged per packet gained, from 1 to 2^20 */
	u64 rtt_scale; /* multiple of the RTT that the law goes by, 0.01 to 100 */
};

enum etcp_phase {
	ETCP_STARTS, /* up by one for each packet acknowledged, until the first loss */
	ETCP_HOLDS,  /* nothing moves until packets that left after it are answered */
	ETCP_AVOIDS, /* the law is in force */
};

/* The phase at an acknowledgement; `is_new` if it answers what left after the first loss. */
static __always_inline u64 etcp_next(u64 phase, u32 is_new)
{
	return phase == ETCP_HOLDS && is_new ? ETCP_AVOIDS : phase;
}

/* The phase after a loss. */
static __always_inline u64 etcp_after_loss(u64 phase)
{
	return phase == ETCP_STARTS ? ETCP_HOLDS : phase;
}
