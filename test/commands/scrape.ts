import type { Serving } from "../support/command.ts";
import { post } from "../support/mcp-http.ts";

/** Reads the metrics of a server process as a scraper does. */

export const token = "scraper-of-ours";
export const measured = { env: { WAYPOST_METRICS_TOKEN: token } };

export type Series = ReadonlyMap<string, number>;

export function scrape({ places }: Pick<Serving, "places">, given: string | null = token) {
  const headers = given === null ? {} : { authorization: `Bearer ${given}` };
  return post(`${places.url}/metrics`, { method: "GET", headers });
}

export async function readSeries(serving: Pick<Serving, "places">): Promise<Series> {
  return parseSeries((await scrape(serving)).text);
}

export function parseSeries(text: string): Series {
  const lines = text.split("\n").filter((line) => /^[a-z]/.test(line));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(" ");
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}
