/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
#include "../laws/etcp_rate.h"

#define LAW etcp_rate
#define NAME "nw_etcp_rate"
#include "paced_law.h"
