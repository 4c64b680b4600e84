import { stat } from "node:fs/promises";
import { UsageFault } from "../../config.ts";
import type { Clock } from "../../contract/clock.ts";
import { isJsonObject } from "../../contract/json.ts";
import { readFamily } from "../../network/ip-address.ts";
import { readCountry } from "./read-country.ts";

/** A file with the countries of addresses, in MaxMind's format (.mmdb). */
type CountryFile = {
  /** What it calls itself: `GeoLite2-Country`. */
  readonly kind: string;
  readonly madeAt: Date;
  readonly find: (address: string) => string | undefined;
};

type Following = {
  readonly clock: Pick<Clock, "monotonic">;
  readonly warn: (facts: object, message: string) => unknown;
};

/** A stat now and then costs nothing, and operators replace the file once a week. */
const lookEvery_ms = 60_000;
/** A file with countries shows one soon. Another file is not read to its end. */
const mostNetworks = 2000;

/** Finds countries in the file, which is read again within a minute after it was replaced. */
export async function followCountryFile(
  path: string,
  { clock, warn }: Following,
): Promise<CountryFile["find"]> {
  // Read first: what is replaced meanwhile is noticed then.
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
    // The library would read the first quarter of such an address as one of IPv4.
    if (ipVersion === 4 && readFamily(address) === "ipv6") return { prefix: 0 };
    try {
      const [record, prefix] = reader.getWithPrefixLength(address);
      return { country: readRecord(record), prefix };
    } catch {
      // A damaged part of the file: of these addresses it tells nothing.
      return { prefix: 128 };
    }
  };
  const find = (address: string) => lookUp(address).country;
  // Vendors name their files differently, so look for a country in the first networks.
  let at = 0;
  for (let count = 0; count < mostNetworks && at < 2 ** 32; count += 1) {
    const { country, prefix } = lookUp(writeAddress(at));
    if (country !== undefined) return { kind, madeAt, find };
    const size = 2 ** (32 - Math.min(32, prefix));
    at = (Math.floor(at / size) + 1) * size;
  }
  throw refuse(path, `(${kind}) has no countries; use a country or city database`);
}

/** An address of IPv4, by its number. */
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
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT") return "does not exist; use an existing file, or leave the setting unset";
  if (code === "EACCES" || code === "EPERM") return "cannot be read; change its permissions";
  if (code === "EISDIR") return "is a folder; use a file in it, such as GeoLite2-Country.mmdb";
  if (typeof code === "string" && /^E[A-Z]+$/.test(code)) return `cannot be read (${code})`;
  return "is not a country database; unpack the download and use the .mmdb file in it";
}

function refuse(path: string, fault: string, cause?: unknown): UsageFault {
  return new UsageFault(`--geoip-file (WAYPOST_GEOIP_FILE): ${path} ${fault}`, { cause });
}

/**
 * The country of MaxMind's and DB-IP's records has a code within; IPinfo's and others' code stands
 * beside a name, or alone. What a network is registered as is not where it is used.
 */
function readRecord(record: unknown): string | undefined {
  if (!isJsonObject(record)) return undefined;
  const { country, country_code: code } = record;
  const told = [isJsonObject(country) ? country["iso_code"] : country, code];
  for (const each of told) {
    const read = typeof each === "string" ? readCountry(each) : undefined;
    if (read !== undefined) return read;
  }
  return undefined;
}

/** Changes when another file takes the name; empty without a file. */
async function readMark(path: string): Promise<string> {
  try {
    const { ino, size, mtimeMs } = await stat(path);
    return `${ino} ${size} ${mtimeMs}`;
  } catch {
    return "";
  }
}
