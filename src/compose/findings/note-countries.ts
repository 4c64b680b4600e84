import type { Config } from "../../config.ts";
import { noteUsageFault, type Note } from "./finding.ts";

/** Addresses change hands; whoever publishes such files does so at least once a month. */
const oldAfter_days = 90;
const day_ms = 24 * 60 * 60_000;

/** Whether the file of countries is one, and of when. */
export async function noteCountries(
  { geoip_file, country_header }: Config,
  now: number,
  note: Note,
): Promise<void> {
  if (geoip_file === undefined) return;
  const about = "countries";
  try {
    const { openCountryFile } = await import("../country-file.ts");
    const { kind, madeAt } = await openCountryFile(geoip_file);
    const age_days = (now - madeAt.getTime()) / day_ms;
    const file = `${kind} of ${madeAt.toISOString().slice(0, 10)}`;
    const header = country_header === undefined ? "" : `the header ${country_header}, and else by `;
    const days = Math.floor(age_days);
    const old = `; it is ${days} days old: put a newer one in its place, which needs no restart`;
    const isOld = age_days > oldAfter_days;
    note({ about, said: `are told by ${header}${file}${isOld ? old : ""}` });
  } catch (error) {
    noteUsageFault(about, error, note);
  }
}
