import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { endAtExit } from "../leftovers.ts";

/** Where Linux deals out the time of the processors: cgroups, of its first or second version. */
export type Controller = { readonly version: 1 | 2; readonly folder: string };

/** The first in which groups can be made; nothing is mounted for that. */
export function findController(): Controller | undefined {
  return readControllers(readFile("/proc/self/mounts")).find(canHold);
}

/**
 * Holds each process to so much of a core until it is disposed of. What a process may use comes
 * every five milliseconds, so that none waits for long.
 */
export function holdToShare(
  controller: Controller,
  pids: readonly number[],
  share: number,
): Disposable {
  const groups: Group[] = [];
  const release = () => {
    for (const group of groups.splice(0)) leave(controller, group);
  };
  const released = endAtExit(release);
  const end = () => {
    release();
    released();
  };
  try {
    for (const pid of pids) groups.push(hold(controller, pid, share));
  } catch (error) {
    end();
    throw error;
  }
  return { [Symbol.dispose]: end };
}

const period_us = 5000;

/** A process by itself, and the folder of the group that it was taken from. */
type Group = { readonly folder: string; readonly former: string };

function hold(controller: Controller, pid: number, share: number): Group {
  const former = findGroup(controller, readFile(`/proc/${pid}/cgroup`));
  const group = { folder: makeGroup(controller, pid), former };
  try {
    for (const [name, limit] of writeLimits(controller, Math.round(period_us * share))) {
      writeFileSync(join(group.folder, name), limit);
    }
    writeFileSync(join(group.folder, "cgroup.procs"), String(pid));
  } catch (error) {
    leave(controller, group);
    throw error;
  }
  return group;
}

/** Of the lines of /proc/self/mounts those that deal out processors and may be written to. */
export function readControllers(mounts: string): readonly Controller[] {
  return mounts.split("\n").flatMap((line): Controller[] => {
    const [, escaped = "", type, options = ""] = line.split(" ");
    const words = options.split(",");
    const folder = escaped.replaceAll(/\\(\d{3})/g, (_all, octal: string) =>
      String.fromCodePoint(Number.parseInt(octal, 8)),
    );
    if (!words.includes("rw")) return [];
    if (type === "cgroup2") return [{ version: 2, folder }];
    return type === "cgroup" && words.includes("cpu") ? [{ version: 1, folder }] : [];
  });
}

/** The folder of the group that a process is in, by its /proc/PID/cgroup. */
export function findGroup({ version, folder }: Controller, groups: string): string {
  const lines = groups.split("\n").map((line) => /^\d+:([^:]*):(.*)$/.exec(line) ?? []);
  const own = lines.find(([, names = "-"]) =>
    version === 2 ? names === "" : names.split(",").includes("cpu"),
  );
  return join(folder, own?.[2] ?? "/");
}

/** Who may write there is known when it was tried. */
function canHold(controller: Controller): boolean {
  try {
    const folder = makeGroup(controller, process.pid);
    try {
      // A group of the second version has limits only where the one above it hands them on.
      return writeLimits(controller, period_us).every(([name]) => readFile(join(folder, name)));
    } finally {
      rmdirSync(folder);
    }
  } catch {
    return false;
  }
}

function makeGroup({ folder }: Controller, pid: number): string {
  const group = join(folder, `waypost-bench-${pid}`);
  // One that a killed bench has left is taken over.
  mkdirSync(group, { recursive: true });
  return group;
}

function writeLimits({ version }: Controller, quota_us: number): readonly [string, string][] {
  if (version === 2) return [["cpu.max", `${quota_us} ${period_us}`]];
  return [
    ["cpu.cfs_period_us", String(period_us)],
    ["cpu.cfs_quota_us", String(quota_us)],
  ];
}

/** A group with a process in it cannot be removed: those that it has started go back as well. */
function leave({ folder: top }: Controller, { folder, former }: Group): void {
  for (const pid of readFile(join(folder, "cgroup.procs")).split("\n").filter(Boolean)) {
    // The former group may have ended; the one at the top is always there.
    void (tryTo(() => moveTo(former, pid)) || tryTo(() => moveTo(top, pid)));
  }
  // The others are to be left all the same.
  tryTo(() => rmdirSync(folder));
}

function moveTo(folder: string, pid: string): void {
  writeFileSync(join(folder, "cgroup.procs"), pid);
}

/** A process may end at any time, and its group with it. */
function tryTo(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

/** Empty where there is none, as on other systems than Linux. */
function readFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
