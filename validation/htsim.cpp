// A dumbbell of htsim's own TCP (Reno without SACK) with its access links folded away, its fastest
// form: one queue and one pipe there, one pipe back. `make bench` builds it against htsim
// (github.com/Broadcom/csg-htsim) if HTSIM names the `sim` folder of a build of that, and compares.
//
// htsim_dumbbell <flows> <Mbit/s> <RTT in ms> <buffer in packets> <seconds>; prints the packets
// delivered.

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include "tcp.h"

int main(int argc, char** argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: htsim_dumbbell flows megabits rtt_ms buffer_packets seconds\n");
        return 2;
    }
    const int flows = atoi(argv[1]);
    const double rtt_ms = atof(argv[3]);
    // htsim prints on standard output while it sets up.
    std::ostringstream unheard;
    std::streambuf* const heard = std::cout.rdbuf(unheard.rdbuf());

    srand(1);
    EventList events;
    events.setEndtime(timeFromSec(atof(argv[5])));
    Packet::set_packet_size(1000);
    Queue queue(speedFromMbps((uint64_t)atoll(argv[2])), memFromPkt(atof(argv[4])), events, NULL);
    Pipe there(timeFromMs(rtt_ms / 2), events), back(timeFromMs(rtt_ms / 2), events);
    TcpRtxTimerScanner timers(timeFromMs(10), events);

    std::vector<TcpSink*> sinks;
    for (int flow = 0; flow < flows; flow++) {
        TcpSrc* source = new TcpSrc(NULL, NULL, events);
        TcpSink* sink = new TcpSink();
        timers.registerTcp(*source);
        Route* out = new Route();
        out->push_back(&queue);
        out->push_back(&there);
        out->push_back(sink);
        Route* in = new Route();
        in->push_back(&back);
        in->push_back(source);
        source->connect(*out, *in, *sink, (simtime_picosec)(drand() * timeFromMs(100)));
        sinks.push_back(sink);
    }
    while (events.doNextEvent()) {
    }

    std::cout.rdbuf(heard);
    uint64_t packets = 0;
    for (TcpSink* sink : sinks) packets += sink->_packets / Packet::data_packet_size();
    printf("%llu\n", (unsigned long long)packets);
    return 0;
}
