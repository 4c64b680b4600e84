import { readlinkSync } from "node:fs";
import type { Config } from "../../config.ts";
import { nameOffset, openTimeZone, utc, type TimeZone } from "../../contract/local-time.ts";
import { isTimeZone } from "../../text/time-zone.ts";

/** The zone in which times are shown: the operator's choice, or else the machine's. */
export function readTimeZone(config: Pick<Config, "time_zone" | "machine_zone">): TimeZone {
  const { time_zone, machine_zone } = config;
  return time_zone === undefined ? findMachineZone(machine_zone) : openTimeZone(time_zone);
}

const machineLink = "/etc/localtime";
/** The form of most names. The meaning of others, such as EST5EDT, is left to Intl. */
const usualName = /^(?!Etc\/)[A-Z]\w+(?:\/[A-Z][\w+-]*)+$/;
/** One of them is in summer. */
const halfYears = [Date.UTC(2026, 0), Date.UTC(2026, 6)] as const;

/**
 * Finds the zone, if possible without Intl, which takes longer than the rest of a start. The name
 * is read where the runtime reads it as well, and the offsets are those of Date.
 */
function findMachineZone(setting: string | undefined): TimeZone {
  // As in every program, a colon before a name or a path means nothing.
  const given = setting?.replace(/^:/, "") ?? machineLink;
  const isPath = given.startsWith("/");
  const found = isPath ? readLink(given) : given;
  const name = found !== undefined && usualName.test(found) ? found : undefined;
  // For a path in the setting, Date knows the offset, but no summer time.
  const isOdd = isPath && setting !== undefined;
  if (isOdd && name !== undefined && isTimeZone(name)) return openTimeZone(name);
  // If Date does not know the name or finds no file, it uses UTC all year.
  const isUtc = halfYears.every((time) => readMachineOffset(time) === 0);
  if (isUtc && name === undefined) return utc;
  return { name: isUtc || name === undefined ? askName() : name, readOffset: readMachineOffset };
}

/** `Europe/Berlin` of `/usr/share/zoneinfo/Europe/Berlin`, or of a link to there. */
function readLink(path: string): string | undefined {
  const folder = "/zoneinfo/";
  try {
    const target = path.includes(folder) ? path : readlinkSync(path);
    return target.split(folder)[1];
  } catch {
    return undefined;
  }
}

function readMachineOffset(time: number): number {
  return -new Date(time).getTimezoneOffset() * 60_000;
}

function askName(): string {
  // For a zone that it does not know, it returns no name, or one that it does not accept.
  const known: { readonly timeZone?: string } = new Intl.DateTimeFormat().resolvedOptions();
  const { timeZone = "" } = known;
  return isTimeZone(timeZone) ? timeZone : nameOffset(readMachineOffset(halfYears[0]));
}
