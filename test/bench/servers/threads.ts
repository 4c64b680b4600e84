import { readdirSync, readFileSync } from "node:fs";

/** What Linux knows of another process; elsewhere there is nothing to read. */

/** Linux counts the time of threads in nanoseconds, and that of a process in ticks of 10 ms. */
export function readThreads_us(pid: number | undefined): number {
  const folder = `/proc/${pid}/task`;
  const times = readdirSync(folder).map((thread) => {
    const [running = "0"] = readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ");
    return Number(running) / 1000;
  });
  return times.reduce((total, time) => total + time, 0);
}

/** The most memory that it ever held; undefined once it has ended. */
export function readPeak_mb(pid: number | undefined): number | undefined {
  return readStatus_mb(pid, "VmHWM");
}

/** The memory that it holds now; undefined once it has ended. */
export function readResident_mb(pid: number | undefined): number | undefined {
  return readStatus_mb(pid, "VmRSS");
}

function readStatus_mb(pid: number | undefined, name: string): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const [, kilobytes] = new RegExp(`${name}:\\s+(\\d+)`).exec(status) ?? [];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1000;
  } catch {
    return undefined;
  }
}
