/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
/* What whoever loads a law asks of it, and what is kept of each connection.
 *
 * To be included with SETTINGS (the law's struct of settings) and struct connection.
 */

const volatile SETTINGS settings SEC(".rodata.settings") = {};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct connection);
} connections SEC(".maps");

static __always_inline const SETTINGS *asked(void)
{
	const SETTINGS *fields = (const SETTINGS *)&settings;

	/* The compiler must not take them for the zeros that stand there. */
	asm volatile("" : "+r"(fields));
	return fields;
}

static __always_inline struct connection *connection(struct sock *sk)
{
	return bpf_sk_storage_get(&connections, sk, 0, 0);
}

/* Only before a connection sends; there may be no memory for it. */
static __always_inline struct connection *new_connection(struct sock *sk)
{
	return bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
}
