/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
/* Fixed-point numbers: 32 bits behind the point. A window is at most 10^6 packets (below 2^52), an
 * RTT 10 us to 10 s. Every function says for which arguments its result does not overflow; results
 * are rounded down. There is no signed division, which clang 14 cannot do for BPF.
 */
#pragma once

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

typedef unsigned int u32;
typedef unsigned long long u64;

/* One packet, or a ratio of 1. */
#define ONE (1ull << 32)
/* The largest window. */
#define MOST_WINDOW (1000000 * ONE)
/* Packets of one acknowledgement that count at most. */
#define MOST_ACKED 65536u
/* What does not fit becomes this. */
#define TOO_MUCH (1ull << 62)

/* What happened, as every law is told. */
struct event {
	u64 now;      /* us */
	u32 acked;    /* packets newly acknowledged or selectively acknowledged, at most MOST_ACKED */
	u32 rtt;      /* a fresh sample in us; 0 if there is none */
	u32 least;    /* the smallest RTT in us; 0 if there is none yet */
	u32 recovers; /* losses are being repaired, or data arrives out of order */
	u32 round;    /* a packet that left in this round trip has been answered, so that it ends */
	u32 pad;
};

static __always_inline u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

static __always_inline u64 most(u64 a, u64 b)
{
	return a > b ? a : b;
}

static __always_inline u64 clamped(u64 a, u64 low, u64 high)
{
	return least(most(a, low), high);
}

/* a * b, where b is a ratio of at most 1, or a times b is below 2^32 of a's units. */
static __always_inline u64 times(u64 a, u64 b)
{
	return (a >> 32) * b + ((a & (ONE - 1)) * b >> 32);
}

/* a / b with `bits` bits behind the point, for b below 2^53. */
static __always_inline u64 divided(u64 a, u64 b, u32 bits)
{
	u64 quotient = a / b, rest = a % b;

	if (quotient >= 1ull << (62 - bits))
		return TOO_MUCH;
	for (u32 i = 0; i < 4 && bits; i++) {
		u32 step = bits < 11 ? bits : 11;

		rest <<= step;
		quotient = (quotient << step) + rest / b;
		rest %= b;
		bits -= step;
	}
	return quotient;
}

/* a / b with 32 bits behind the point, for b below 2^53. */
static __always_inline u64 ratio(u64 a, u64 b)
{
	return divided(a, b, 32);
}

/* acked * step / window: what `acked` packets add at `step` packets a round trip. The product is
 * taken first where it fits, as one packet's share of a small step has few bits.
 */
static __always_inline u64 gain(u32 acked, u64 step, u64 window)
{
	if (step < 1ull << 47)
		return ratio(acked * step, window);
	return acked * least(ratio(step, window), 1ull << 46);
}

/* log2(x) for x of at least 1 and below 2^32, to 2^-27 with 32 bits. There is no branch in the loop:
 * the kernel's verifier follows both sides of each.
 */
static __always_inline u64 log2_of(u64 x, u32 bits)
{
	u64 whole = 0, fraction = 0;

	for (u32 step = 16; step; step /= 2) {
		if (x >> (32 + step)) {
			x >>= step;
			whole += step;
		}
	}
	x >>= 1; /* 31 bits, so that its square fits */
	for (u32 i = 0; i < 32 && i < bits; i++) {
		u64 bit;

		x = x * x >> 31;
		bit = x >> 32;
		fraction |= bit << (31 - i);
		x >>= bit;
	}
	return (whole << 32) + fraction;
}

/* 2^(2^-k) for k = 1 to 27, with 31 bits behind the point. */
static const u32 ROOTS[27] = {
	0xb504f334, 0x9837f052, 0x8b95c1e4, 0x85aac368, 0x82cd8699, 0x8164d1f4,
	0x80b1ed50, 0x8058d7d3, 0x802c6437, 0x8016302f, 0x800b179d, 0x80058baf,
	0x8002c5d0, 0x800162e6, 0x8000b173, 0x800058b9, 0x80002c5d, 0x8000162e,
	0x80000b17, 0x8000058c, 0x800002c6, 0x80000163, 0x800000b1, 0x80000059,
	0x8000002c, 0x80000016, 0x8000000b,
};

/* 2^x for x below 20, to 2^-25 of it. */
static __always_inline u64 exp2_of(u64 x)
{
	u64 power = 1ull << 31, whole = x >> 32;

	if (whole >= 20)
		return MOST_WINDOW;
	for (u32 k = 0; k < 27; k++)
		power = power * ((1ull << 31) + (x >> (31 - k) & 1) * (ROOTS[k] - (1ull << 31))) >> 31;
	return power << (whole + 1);
}
