import type { Config } from "../../config.ts";
import { noteUsageFault, type Note } from "./finding.ts";

/** Whether the file of countries is one, and of when. */
export async function noteCountries(
  { geoip_file, country_header }: Config,
  note: Note,
): Promise<void> {
  if (geoip_file === undefined) return;
  const about = "countries";
  try {
    const { openCountryFile } = await import("../country-file.ts");
    const { kind, madeAt } = await openCountryFile(geoip_file);
    const file = `${kind} of ${madeAt.toISOString().slice(0, 10)}`;
    const header =
      country_header === undefined ? "" : `the header ${country_header}, otherwise from `;
    note({ about, said: `are read from ${header}${file}` });
  } catch (error) {
    noteUsageFault(about, error, note);
  }
}
