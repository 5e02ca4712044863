/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
#include "../laws/etcp.h"

#define LAW etcp
#define NAME "nw_etcp"
#include "paced_law.h"
