"""Timing of two things in turn, so that a ratio compares like with like."""

import gc
import time


def best(*jobs, repeats=5, clock=time.perf_counter):
    """The shortest time of each job, in seconds; the jobs take turns, after one round that does not count."""
    times = [[] for _ in jobs]
    for turn in range(repeats + 1):
        for kept, job in zip(times, jobs, strict=True):
            gc.collect()
            start = clock()
            job()
            if turn:
                kept.append(clock() - start)
    return [min(kept) for kept in times]


def report(work, peer, ours, theirs, bar):
    """One line: both times, their ratio and the bar it should stay under."""
    ratio = ours / theirs
    verdict = "met" if ratio <= bar else "MISSED"
    print(f"{work:<58} {ours:8.3f} s  {peer:<38} {theirs:8.3f} s  ratio {ratio:6.3f}  bar {bar:5.2f}  {verdict}")
    return ratio <= bar


def processor_seconds(job):
    """Seconds of the processor that one call takes: what others do on the machine counts for little."""
    gc.collect()
    start = time.process_time()
    job()
    return time.process_time() - start
