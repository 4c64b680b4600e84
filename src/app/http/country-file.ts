import { stat } from "node:fs/promises";
import { UsageFault } from "../../config.ts";
import type { Clock } from "../../contract/clock.ts";
import { isJsonObject } from "../../contract/json.ts";
import { readFamily } from "../../network/ip-address.ts";
import { explainFileFault, isFileFault } from "../data/file-fault.ts";
import { readCountry } from "./read-country.ts";

/** Looks up countries in a file that the operator provides, and reloads it when it changes. */

/** A file that maps IP addresses to countries, in MaxMind's format (.mmdb). */
type CountryFile = {
  /** The type in the file's metadata, such as `GeoLite2-Country`. */
  readonly kind: string;
  readonly madeAt: Date;
  readonly find: (address: string) => string | undefined;
};

type FollowOptions = {
  readonly clock: Pick<Clock, "monotonic">;
  readonly warn: (facts: object, message: string) => unknown;
};

/** How often to check whether the operator has replaced the file. */
const lookEvery_ms = 60_000;
const mostNetworks = 2000;

/** Looks up countries in a file, and reloads it within a minute after it is replaced. */
export async function followCountryFile(
  path: string,
  { clock, warn }: FollowOptions,
): Promise<CountryFile["find"]> {
  // Reads the file's version first, so that the next check detects a replacement during loading.
  let mark = await readMark(path);
  let file = await openCountryFile(path);
  let looksAt = clock.monotonic() + lookEvery_ms;

  async function look(): Promise<void> {
    const seen = await readMark(path);
    if (seen === mark) return;
    mark = seen;
    file = await openCountryFile(path);
  }

  return (address) => {
    const now = clock.monotonic();
    if (now >= looksAt) {
      looksAt = now + lookEvery_ms;
      look().catch((error: unknown) => {
        warn(
          { error: String(error) },
          "new country file could not be read; still using the old one",
        );
      });
    }
    return file.find(address);
  };
}

export async function openCountryFile(path: string): Promise<CountryFile> {
  const reader = await openReader(path);
  const { databaseType: kind, buildEpoch: madeAt, ipVersion } = reader.metadata;
  const lookUp = (address: string) => {
    // Otherwise the library would read the first 32 bits of an IPv6 address as an IPv4 address.
    if (ipVersion === 4 && readFamily(address) === "ipv6") return { prefix: 0 };
    try {
      const [record, prefix] = reader.getWithPrefixLength(address);
      return { country: readRecord(record), prefix };
    } catch {
      // This part of the file is damaged, so the IP address has no country.
      return { prefix: 128 };
    }
  };
  const find = (address: string) => lookUp(address).country;
  // A file is accepted if it contains a country, because vendors name their file types differently.
  let at = 0;
  for (let count = 0; count < mostNetworks && at < 2 ** 32; count += 1) {
    const { country, prefix } = lookUp(writeAddress(at));
    if (country !== undefined) return { kind, madeAt, find };
    const size = 2 ** (32 - Math.min(32, prefix));
    at = (Math.floor(at / size) + 1) * size;
  }
  throw refuse(path, `(${kind}) has no countries; use a country or city database`);
}

function writeAddress(at: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(at / 2 ** shift) % 256).join(".");
}

async function openReader(path: string) {
  const { open } = await import("maxmind");
  try {
    return await open(path);
  } catch (error) {
    throw refuse(path, explain(error), error);
  }
}

function explain(error: unknown): string {
  if (isFileFault(error)) return `cannot be read: ${explainFileFault(error)}`;
  return "is not a country database; unpack the download and use the .mmdb file in it";
}

function refuse(path: string, fault: string, cause?: unknown): UsageFault {
  return new UsageFault(`--geoip-file (WAYPOST_GEOIP_FILE): ${path} ${fault}`, { cause });
}

/**
 * Finds the country code in a record: inside `country` for MaxMind and DB-IP, in `country` or
 * `country_code` for IPinfo and others. Ignores the country of registration, because the network
 * may be used in another country.
 */
function readRecord(record: unknown): string | undefined {
  if (!isJsonObject(record)) return undefined;
  const { country, country_code: code } = record;
  const candidates = [isJsonObject(country) ? country["iso_code"] : country, code];
  for (const each of candidates) {
    const read = typeof each === "string" ? readCountry(each) : undefined;
    if (read !== undefined) return read;
  }
  return undefined;
}

/** Returns a string that changes when the file is replaced; empty if the file does not exist. */
async function readMark(path: string): Promise<string> {
  try {
    const { ino, size, mtimeMs } = await stat(path);
    return `${ino} ${size} ${mtimeMs}`;
  } catch {
    return "";
  }
}
