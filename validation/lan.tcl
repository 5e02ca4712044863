# ns-2: figure 3 of Gerla et al. (GWA) as a LAN, or with other delays. Options are key=value pairs:
#   kb     buffer of the bottleneck, kB                q       DropTail RED ECN MARK
#   n      hosts, each with an FTP and a Telnet        telnet  1 if there are Telnets, else 0
#   bw     bottleneck, Mbit/s                          access  the hosts' links, Mbit/s
#   near   one-way delay of the first host, us         far     of the last host, us
#   mid    of the bottleneck, us                       last    of the receivers' links, us
#   window receivers' windows, packets                 tick    tcpTick_, s
#   dur    simulated seconds                           warm    start of the measured window, s
#   start  flows start uniformly within this many s    seed    of the start times and the Telnets
array set o {kb 30 q DropTail n 10 telnet 1 bw 100 access 100 near 30 far 30 mid 40 last 30 window 64 tick 0.1 dur 25 warm 5 start 0.1 seed 1}
foreach a $argv { set kv [split $a =]; set o([lindex $kv 0]) [lindex $kv 1] }
ns-random $o(seed)
set ns [new Simulator]
remove-all-packet-headers
add-packet-header IP TCP Flags
set wire 1040
set limit [expr int($o(kb)*1000/$wire)]
set qd $o(q); if {$qd == "ECN" || $qd == "MARK"} { set qd RED }
if {$qd == "RED"} {
  Queue/RED set thresh_ [expr $limit/12.0]; Queue/RED set maxthresh_ [expr 3*$limit/12.0]
  Queue/RED set linterm_ 10; Queue/RED set gentle_ false; Queue/RED set q_weight_ 0.002; Queue/RED set bytes_ false; Queue/RED set queue_in_bytes_ false
  Queue/RED set mean_pktsize_ $wire
  if {$o(q) != "RED"} { Queue/RED set setbit_ true }
  # Marks, and never drops, above the upper threshold.
  if {$o(q) == "MARK"} { Queue/RED set use_mark_p_ true; Queue/RED set mark_p_ 2 }
}
set r1 [$ns node]; set r2 [$ns node]
$ns duplex-link $r1 $r2 $o(bw)Mb $o(mid)us $qd
$ns queue-limit $r1 $r2 $limit
$ns queue-limit $r2 $r1 100000
Agent/TCP set window_ $o(window)
Agent/TCP set packetSize_ 1000
Agent/TCP set tcpTick_ $o(tick)
if {$o(q) == "ECN" || $o(q) == "MARK"} { Agent/TCP set ecn_ 1 }
set rng [new RNG]; $rng seed $o(seed)
proc flow {from to} {
  global ns
  set a [new Agent/TCP/Reno]; set b [new Agent/TCPSink]
  $ns attach-agent $from $a; $ns attach-agent $to $b; $ns connect $a $b
  return $a
}
# A Telnet session offers a packet every 0.1 s on average; when, is written down.
set gaps [new RNG]; $gaps seed [expr $o(seed) + 1000]
proc type {i} { global ns tel offered gaps
  lappend offered($i) [$ns now]; $tel($i) advanceby 1
  $ns at [expr [$ns now] + [$gaps exponential] * 0.1] "type $i"
}
for {set i 0} {$i < $o(n)} {incr i} {
  set s [$ns node]; set d [$ns node]
  set near [expr $o(n) > 1 ? $o(near) + ($o(far) - $o(near)) * $i / double($o(n) - 1) : $o(near)]
  $ns duplex-link $s $r1 $o(access)Mb ${near}us DropTail
  $ns duplex-link $r2 $d $o(access)Mb $o(last)us DropTail
  set tcp($i) [flow $s $d]
  set ftp [new Application/FTP]; $ftp attach-agent $tcp($i); $ns at [$rng uniform 0 $o(start)] "$ftp start"
  if {$o(telnet)} {
    set tel($i) [flow $s $d]; set offered($i) {}; $ns at [$rng uniform 0 $o(start)] "type $i"
    set said($i) [open /tmp/lan.[pid].$i w]
    $tel($i) attach $said($i); $tel($i) trace ack_
  }
}
set qm [$ns monitor-queue $r1 $r2 ""]
proc mark {} { global qm a0 l0 tcp o k0
  set a0 [$qm set parrivals_]; set l0 [$qm set pdrops_]
  for {set i 0} {$i < $o(n)} {incr i} { set k0($i) [$tcp($i) set ack_] }
}
# Delay of each Telnet packet offered in the measured window: until the sender knows that it has arrived
# in order. Packet 0 is a SYN without data: ns-2 sends packets 0 and 1 for the first that is offered.
proc delays {file offered} { global o
  set result {}; set next 0
  set f [open $file]
  while {[gets $f line] >= 0} {
    set now [lindex $line 0]; set name [lindex $line 5]; set value [expr int([lindex $line 6])]
    if {$name == "ack_"} { for {} {$next < $value && $next < [llength $offered]} {incr next} {
      set at [lindex $offered $next]; if {$at > $o(warm)} { lappend result [expr $now - $at] } } }
  }
  for {} {$next < [llength $offered]} {incr next} { set at [lindex $offered $next]; if {$at > $o(warm)} { lappend result [expr $o(dur) - $at] } }
  close $f; file delete $file
  return $result
}
proc fin {} { global qm a0 l0 tcp tel said o k0 offered
  set T [expr double($o(dur)-$o(warm))]
  set a [expr [$qm set parrivals_]-$a0]; set l [expr [$qm set pdrops_]-$l0]
  set shares {}; set all {}
  for {set i 0} {$i < $o(n)} {incr i} {
    lappend shares [format %.5f [expr ([$tcp($i) set ack_]-$k0($i))*1000*8.0/$T/1e6/$o(bw)]]
    if {$o(telnet)} { close $said($i); set all [concat $all [delays /tmp/lan.[pid].$i $offered($i)]] }
  }
  set sorted [lsort -real $all]; set mean 0.0; foreach x $all { set mean [expr $mean+$x] }
  set mean [expr [llength $all] ? $mean/[llength $all] : 0]
  set longest 0; if {[llength $sorted]} { set longest [lindex $sorted end] }
  set up [lsort -real $shares]; set sum 0.0; foreach x $shares { set sum [expr $sum+$x] }
  puts [format {{"case":{"kb":%s,"q":"%s","n":%s,"telnet":%s,"bw":%s,"access":%s,"near":%s,"far":%s,"mid":%s,"last":%s,"window":%s,"tick":%s,"dur":%s,"warm":%s,"start":%s,"seed":%s},"result":{"most":%s,"mean":%.5f,"least":%s,"loss_rate":%.3e,"telnet_mean":%.5f,"telnet_max":%.4f,"shares":[%s]}}} \
    $o(kb) $o(q) $o(n) $o(telnet) $o(bw) $o(access) $o(near) $o(far) $o(mid) $o(last) $o(window) $o(tick) $o(dur) $o(warm) $o(start) $o(seed) \
    [lindex $up end] [expr $sum/$o(n)] [lindex $up 0] [expr $a>0 ? double($l)/$a : 0] $mean $longest [join $shares ,]]
  exit 0 }
$ns at $o(warm) mark
$ns at $o(dur) fin
$ns run
