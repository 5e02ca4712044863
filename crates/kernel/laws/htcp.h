/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
/* H-TCP (Leith, Shorten, §3), as crates/control/src/laws/htcp.rs; the paper's, not Linux's. */
#pragma once
#include "fixed.h"


/* alpha and what it is made of have 20 bits behind the point, in packets and seconds. */
#define HTCP_ONE (1ull << 20)
/* An alpha of 2^20 packets is more than any window. */
#define HTCP_MOST (1ull << 40)
/* Seconds after which alpha grows no more, in us. */
#define HTCP_LONGEST (1ull << 30)

struct htcp_settings {
	u64 delta_l;          /* us */
	u64 a0, a1, a2;       /* packets a round trip, 20 bits behind the point, at most 10^6 */
	u64 adaptive;         /* whether the back-off adapts */
	u64 beta, beta_max;   /* least and most share kept, below 1 */
	u64 reset;            /* how far B- may move, 16 bits behind the point; 0 for infinitely far */
	u64 throughput_ratio; /* whether eq. 22 is used */
	u64 rtt_scaling;      /* whether alpha grows with the RTT */
	u64 high_speed;       /* T* - delta_l in us; 0 without a convergence time */
};

struct htcp {
	u64 beta;        /* share kept at the last event */
	u64 last_event;  /* us */
	u64 since;       /* when this round trip began, us */
	u64 last;        /* packets a second in the last whole one, 10 bits behind the point */
	u64 length;      /* of it, us; 0 if there is none */
	u64 b_minus;     /* packets a second, 10 bits behind the point */
	u64 least_ratio; /* of eq. 22, at most 1; 0 if there is none */
	u32 packets;     /* in this round trip */
	u32 least_rtt, most_rtt; /* us; 0 if there is none */
	u32 after_event; /* round trips that have ended since the last event, from 1; 0 if none has */
	u32 was_recovering;
	u32 has_event;   /* whether last_event is known */
	u32 has_b_minus; /* whether b_minus is */
	u32 pad;
};

static __always_inline void htcp_start(const struct htcp_settings *s, struct htcp *law)
{
	*law = (struct htcp){ .beta = s->beta };
}

/* a * b with 20 bits behind the point, for b below 2^43 and a * b below 2^63. */
static __always_inline u64 htcp_times(u64 a, u64 b)
{
	return (a >> 20) * b + ((a & (HTCP_ONE - 1)) * b >> 20);
}

/* (1 + x/T)^4 (§3.1, comment 2), at most 2^12. */
static __always_inline u64 htcp_haste(const struct htcp_settings *s, u64 x)
{
	u64 h;

	if (!s->high_speed)
		return HTCP_ONE;
	h = least(HTCP_ONE + divided(x, least(s->high_speed, 1ull << 50), 20), 8 * HTCP_ONE);
	h = htcp_times(h, h);
	return htcp_times(h, h);
}

/* alpha in packets a round trip, 20 bits behind the point (eqs. 23, 24; §3.1, comment 2). */
static __always_inline u64 htcp_alpha(const struct htcp_settings *s, const struct htcp *law,
				      u64 delta)
{
	u64 alpha = HTCP_ONE, x, seconds;

	if (delta > s->delta_l) {
		x = least(delta - s->delta_l, HTCP_LONGEST);
		seconds = x * HTCP_ONE / 1000000; /* below 2^31 */
		alpha = s->a0 + htcp_times(s->a1, seconds) +
			htcp_times(s->a2, htcp_times(seconds, seconds));
		alpha = htcp_times(least(alpha, HTCP_MOST), htcp_haste(s, x));
		alpha = least(alpha, HTCP_MOST);
	}
	alpha = 2 * times(alpha, ONE - law->beta);
	if (s->rtt_scaling && law->least_rtt)
		alpha = htcp_times(alpha, clamped(law->least_rtt * HTCP_ONE / 100000, HTCP_ONE / 2,
						  10 * HTCP_ONE));
	return least(alpha, HTCP_MOST);
}

/* Packets a second, 10 bits behind the point. */
static __always_inline u64 htcp_rate(u32 packets, u64 us)
{
	return us ? (u64)packets * 1000000 * 1024 / us : 0;
}

/* B+ from the third round trip after an event: beta * B- / B+, the least of it (eq. 22). */
static __always_inline void htcp_b_plus(struct htcp *law)
{
	u64 kept = times(law->b_minus, law->beta), ratio_of;

	if (!law->has_b_minus || !law->last)
		return;
	ratio_of = kept >= law->last ? ONE : most(ratio(kept, law->last), 1);
	if (!law->least_ratio || ratio_of < law->least_ratio)
		law->least_ratio = ratio_of;
}

/* RTT_min, RTT_max, B- and B+ (§3.2, §3.3). */
static __always_inline void htcp_observe(const struct htcp_settings *s, struct htcp *law,
					 const struct event *e, u64 window)
{
	u32 touched = law->was_recovering || e->recovers;

	law->was_recovering = e->recovers;
	if (e->rtt && !touched) {
		if (!law->least_rtt || e->rtt < law->least_rtt)
			law->least_rtt = e->rtt;
		if (e->rtt > law->most_rtt)
			law->most_rtt = e->rtt;
	}
	law->packets += e->acked;
	if (!e->round)
		return;
	if (e->now > law->since) {
		law->length = e->now - law->since;
		law->last = htcp_rate(law->packets, law->length);
	}
	law->since = e->now;
	law->packets = 0;
	if (law->after_event && law->after_event++ == 3) {
		law->after_event = 0;
		htcp_b_plus(law);
	}
}

/* W + n*min(alpha/W, 1) (§3.4 (a)). */
static __always_inline u64 htcp_increase(const struct htcp_settings *s, struct htcp *law,
					 const struct event *e, u64 window)
{
	u64 alpha;

	if (!law->has_event) {
		law->has_event = 1;
		law->last_event = e->now;
	}
	alpha = htcp_alpha(s, law, e->now > law->last_event ? e->now - law->last_event : 0) << 12;
	return window + gain(e->acked, least(alpha, window), window);
}

/* B-: of the round trip under way if half of it is over, else of the last (§3.2). */
static __always_inline u64 htcp_throughput(const struct htcp *law, u64 now)
{
	if (now > law->since && 2 * (now - law->since) >= law->length)
		return htcp_rate(law->packets, now - law->since);
	return law->last;
}

/* Whether B- has moved by more than `reset` of what it was. It is below 2^47. */
static __always_inline u32 htcp_moved(const struct htcp_settings *s, u64 before, u64 now)
{
	u64 by = now > before ? now - before : before - now;

	return s->reset &&
	       by > (before >> 16) * s->reset + ((before & 0xffff) * s->reset >> 16);
}

/* beta at an event (eq. 25). */
static __always_inline u64 htcp_back_off(const struct htcp_settings *s, struct htcp *law, u64 now)
{
	u64 before = law->b_minus;
	u32 moved = 0;

	/* Of the last whole round trip there is a rate, once there has been one. */
	if (law->length) {
		law->b_minus = htcp_throughput(law, now);
		moved = law->has_b_minus && htcp_moved(s, before, law->b_minus);
		law->has_b_minus = 1;
	}
	if (!s->adaptive)
		return s->beta;
	if (moved) {
		law->most_rtt = law->least_rtt;
		law->least_ratio = 0;
		return s->beta;
	}
	if (s->throughput_ratio)
		return law->least_ratio ? clamped(law->least_ratio, s->beta, s->beta_max) : s->beta;
	if (!law->most_rtt)
		return s->beta;
	return clamped(ratio(law->least_rtt, law->most_rtt), s->beta, s->beta_max);
}

/* beta*W (§3.4 (b), eq. 25). */
static __always_inline u64 htcp_decrease(const struct htcp_settings *s, struct htcp *law, u64 now,
					 u64 window)
{
	law->beta = htcp_back_off(s, law, now);
	law->last_event = now;
	law->has_event = 1;
	law->after_event = 1;
	return times(window, law->beta);
}

/* Time without data, in us, does not count. */
static __always_inline void htcp_restart(const struct htcp_settings *s, struct htcp *law, u64 idle)
{
	if (law->has_event)
		law->last_event += idle;
}
