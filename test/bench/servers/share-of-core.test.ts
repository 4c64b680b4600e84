import { expect, test } from "vitest";
import { findGroup, readControllers } from "./share-of-core.ts";

/** Where a process may be held to a part of a core, as Linux tells it. */

const mounts = [
  "tmpfs /sys/fs/cgroup tmpfs rw,relatime,mode=755 0 0",
  "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,nosuid,relatime,nsdelegate 0 0",
  "cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0",
  "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0",
  "none /mnt/by\\040hand cgroup rw,relatime,cpu 0 0",
  "cgroup /in/a/container cgroup ro,relatime,cpu 0 0",
  "cgroup2 /in/another cgroup2 ro,relatime 0 0",
  "",
].join("\n");

test("what deals out processors is found by its kind, and where it may be written to", () => {
  expect(readControllers(mounts)).toEqual([
    { version: 2, folder: "/sys/fs/cgroup/unified" },
    { version: 1, folder: "/sys/fs/cgroup/cpu,cpuacct" },
    { version: 1, folder: "/mnt/by hand" },
  ]);
  expect(readControllers("")).toEqual([]);
});

const groups = "9:name=systemd:/\n3:cpuset:/other\n2:cpu,cpuacct:/a/b:c\n0::/user.slice\n";

test.each([
  { version: 1, text: groups, group: "/cgroups/a/b:c" },
  { version: 2, text: groups, group: "/cgroups/user.slice" },
  { version: 1, text: "2:cpuset:/other\n0::/user.slice\n", group: "/cgroups/" },
  { version: 2, text: "", group: "/cgroups/" },
] as const)("a process goes back to its group of version $version", ({ version, text, group }) => {
  expect(findGroup({ version, folder: "/cgroups" }, text)).toBe(group);
});
