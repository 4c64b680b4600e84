import { cpus, loadavg, release, totalmem } from "node:os";
import { openDatabase } from "../../../src/sql/engine.ts";

/** What the figures were made on. */

export function describeMachine(): string {
  const [{ model } = { model: "unknown" }] = cpus();
  return `${cpus().length} × ${model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB`;
}

export function describeVersions(): string {
  const database = openDatabase(":memory:");
  const [row] = database.prepare("select sqlite_version() as version").all();
  database.close();
  const [system] = release().split("-");
  const { version } = row as { readonly version: string };
  return `Node ${process.versions.node}, SQLite ${version}, Linux ${system}`;
}

export function readLoad(): string {
  const [minute = 0] = loadavg();
  return minute.toFixed(2);
}
