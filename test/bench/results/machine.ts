import { cpus, loadavg, release, totalmem } from "node:os";

/** Describes the machine and the software that were measured. */

export function describeMachine(): string {
  const [{ model } = { model: "unknown" }] = cpus();
  return `${cpus().length} × ${model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB`;
}

export function describeVersions(): string {
  const [system] = release().split("-");
  return `Node ${process.versions.node}, Linux ${system}`;
}

export function readLoad(): string {
  const [minute = 0] = loadavg();
  return minute.toFixed(2);
}
