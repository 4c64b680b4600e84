import { readdirSync, readFileSync } from "node:fs";

/** Reads what Linux reports about a process. */

/** Linux counts the time of threads in nanoseconds, and of a process in ticks of 10 ms. */
export function readThreads_us(pid: number | undefined): number {
  const folder = `/proc/${pid}/task`;
  const times = readdirSync(folder).map((thread) => {
    const [running = "0"] = readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ");
    return Number(running) / 1000;
  });
  return times.reduce((total, time) => total + time, 0);
}

export function readPeak_mb(pid: number | undefined): number {
  return readStatus_mb(pid, "VmHWM");
}

export function readResident_mb(pid: number | undefined): number {
  return readStatus_mb(pid, "VmRSS");
}

function readStatus_mb(pid: number | undefined, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const [, kilobytes] = new RegExp(`${name}:\\s+(\\d+)`).exec(status) ?? [];
  return Number(kilobytes) / 1000;
}
