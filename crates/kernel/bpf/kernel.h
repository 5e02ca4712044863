/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
/* What the programs read of the kernel. Fields are found by name in the running kernel's BTF, so
 * only those that are used are here, and their order does not matter.
 */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef long long __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;

#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_F_NO_PREALLOC 1
#define BPF_RB_NO_WAKEUP 1
#define BPF_SK_STORAGE_GET_F_CREATE 1

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* include/uapi/linux/tcp.h, include/net/tcp.h, include/net/sock.h */
#define TCP_CA_Open 0
#define TCP_CA_Recovery 3
#define TCP_CA_Loss 4
#define CA_EVENT_TX_START 0
#define SK_PACING_NEEDED 1
#define TCP_CONG_NON_RESTRICTED 1
/* HZ of the running kernel. */
extern int CONFIG_HZ __kconfig;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
	u64 sk_pacing_rate;     /* bytes a second */
	u64 sk_max_pacing_rate; /* SO_MAX_PACING_RATE */
	u32 sk_pacing_status;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
	u32 icsk_rto;
};

struct minmax_sample {
	u32 t;
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 snd_una;
	u32 snd_nxt;
	u32 max_packets_out;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 srtt_us;
	u32 mss_cache;
	u32 lsndtime;
	u32 data_segs_out;
	u64 tcp_mstamp;
	struct minmax rtt_min;
	u8 is_cwnd_limited : 1;
};

struct rate_sample {
	s32 delivered;   /* packets between the two times that interval_us is between */
	long interval_us;
	long rtt_us;
	s32 losses;
	s32 acked_sacked;
	u8 is_app_limited;
	u8 is_retrans;
};

struct ack_sample {
	s32 rtt_us;
};

struct tcp_congestion_ops {
	/* First, so that whoever loads the law can change it. */
	char name[16];
	u32 flags;
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 state);
	void (*cwnd_event)(struct sock *sk, int event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

#pragma clang attribute pop

/* OF(start) is the law's `start`. */
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define OF(what) PASTE(PASTE(LAW, _), what)

static __always_inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

/* Whether the sequence number a is before b. */
static __always_inline int before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;

/* The programs call functions of the kernel, which it allows to licences that are GPL's, too. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";
