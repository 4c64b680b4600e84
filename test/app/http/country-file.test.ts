import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { followCountryFile, openCountryFile } from "../../../src/app/http/country-file.ts";
import { waitUntil } from "../../support/clock.ts";
import { createEmptyFolder } from "../../support/folders.ts";
import { openForAll } from "../../support/open-for.ts";
import { writeCountries } from "../../support/write-countries.ts";

/** Country files in MaxMind's format, read with the real library. */

let folder: string;
openForAll(createEmptyFolder, ({ path }) => (folder = path));

test.each([
  ["of MaxMind or DB-IP", { country: { iso_code: "GB" }, registered_country: { iso_code: "US" } }],
  ["with a code next to a name", { country: "United Kingdom", country_code: "gb" }],
  ["with only a code", { country: "GB" }],
])("a visitor's country is read from a country file %s", async (_, record) => {
  const path = join(folder, "forms.mmdb");
  await writeCountries(path, { "203.0.113.0/24": record, "2001:db8::/32": record });
  const { find, kind } = await openCountryFile(path);
  expect(kind).toBe("GeoLite2-Country");
  const asked = ["203.0.113.9", "2001:db8::7", "203.0.114.1", "127.0.0.1", "2001:db9::"];
  expect(asked.map(find)).toEqual(["GB", "GB", undefined, undefined, undefined]);
});

test("the field registered_country and the code ZZ in a country file are ignored", async () => {
  const path = join(folder, "nowhere.mmdb");
  await writeCountries(path, {
    "203.0.113.0/25": { registered_country: { iso_code: "US" } },
    "203.0.113.128/25": { country_code: "ZZ" },
    "203.0.114.0/24": { country_code: "AU" },
    "2001:db8::/32": { country_code: "NZ" },
  });
  const { find } = await openCountryFile(path);
  const asked = ["203.0.113.1", "203.0.113.200", "2001:db8::1"];
  expect(asked.map(find)).toEqual([undefined, undefined, "NZ"]);
});

const writeCountry = (code: string) => (to: string) =>
  writeCountries(to, { "203.0.113.0/24": { country_code: code } });

test("a changed country file is loaded within a minute if its content is valid", async () => {
  const path = join(folder, "followed.mmdb");
  const replace = async (write: (path: string) => Promise<void>) => {
    await write(`${path}.new`);
    await rename(`${path}.new`, path);
  };
  await writeCountry("GB")(path);
  let now = 0;
  const warned: object[] = [];
  const options = { clock: { monotonic: () => now }, warn: (facts: object) => warned.push(facts) };
  const find = await followCountryFile(path, options);
  const ask = () => find("203.0.113.9");

  await replace(writeCountry("IE"));
  now = 59_999;
  expect(ask()).toBe("GB");
  now = 60_000;
  // The first lookup does not wait for the new file.
  expect(ask()).toBe("GB");
  await waitUntil(() => ask() === "IE");

  await replace((to) => writeFile(to, "not yet"));
  now = 120_000;
  expect(ask()).toBe("IE");
  await waitUntil(() => warned.length === 1);
  expect(ask()).toBe("IE");
  await rm(path);
  now = 180_000;
  expect(ask()).toBe("IE");
  await waitUntil(() => warned.length === 2);
  expect(warned[1]).toMatchObject({ error: expect.stringContaining("does not exist") });
  await writeCountry("FR")(path);
  now = 240_000;
  ask();
  await waitUntil(() => ask() === "FR");
});
