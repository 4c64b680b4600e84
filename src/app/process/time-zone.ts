import { readlinkSync } from "node:fs";
import type { Config } from "../../config.ts";
import { nameOffset, openTimeZone, utc, type TimeZone } from "../../contract/local-time.ts";
import { isTimeZone } from "../../text/time-zone.ts";

/** Returns the time zone for displayed times: the operator's choice, or else the machine's. */
export function readTimeZone(config: Pick<Config, "time_zone" | "machine_zone">): TimeZone {
  const { time_zone, machine_zone } = config;
  return time_zone === undefined ? findMachineZone(machine_zone) : openTimeZone(time_zone);
}

const machineLink = "/etc/localtime";
/** The format of most zone names. Intl resolves others, such as EST5EDT. */
const usualName = /^(?!Etc\/)[A-Z]\w+(?:\/[A-Z][\w+-]*)+$/;
/** In most zones with daylight saving time, one of these dates is in daylight saving time. */
const halfYears = [Date.UTC(2026, 0), Date.UTC(2026, 6)] as const;

/**
 * Finds the machine's zone, if possible without Intl, because Intl takes longer than the rest of
 * the start. Reads the name from the same place as Node does, and the offsets from Date.
 */
function findMachineZone(setting: string | undefined): TimeZone {
  // Ignores a leading colon in TZ, as other programs do.
  const given = setting?.replace(/^:/, "") ?? machineLink;
  const isPath = given.startsWith("/");
  const found = isPath ? readLink(given) : given;
  const name = found !== undefined && usualName.test(found) ? found : undefined;
  // If TZ is a path, Date ignores daylight saving time, so Intl is used.
  const isOdd = isPath && setting !== undefined;
  if (isOdd && name !== undefined && isTimeZone(name)) return openTimeZone(name);
  // For an unknown name or a missing file, Date uses UTC all year.
  const isUtc = halfYears.every((time) => readMachineOffset(time) === 0);
  if (isUtc && name === undefined) return utc;
  return { name: isUtc || name === undefined ? askName() : name, readOffset: readMachineOffset };
}

/** Returns `Europe/Berlin` for `/usr/share/zoneinfo/Europe/Berlin`, or for a symlink to it. */
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
  // For an unknown zone, Intl returns no name or an invalid one.
  const known: { readonly timeZone?: string } = new Intl.DateTimeFormat().resolvedOptions();
  const { timeZone = "" } = known;
  return isTimeZone(timeZone) ? timeZone : nameOffset(readMachineOffset(halfYears[0]));
}
