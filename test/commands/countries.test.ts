import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  createFolder,
  createUsedFolder,
  run,
  runJson,
  startServe,
  type Folder,
} from "../support/command.ts";
import { visitAt } from "../support/link-host.ts";
import { writeCountries } from "../support/write-countries.ts";
import { openForAll } from "../support/open-for.ts";

/** The country of a visitor by the operator's file, with and without a proxy. */

let folder: Folder;
let file: string;

openForAll(createFolder, async (opened) => {
  folder = opened;
  file = `${folder.path}.mmdb`;
  await writeCountries(file, {
    "203.0.113.0/24": { country: { iso_code: "GB" } },
    "2001:db8::/32": { country: { iso_code: "JP" } },
    "127.0.0.0/8": { country: { iso_code: "DE" } },
  });
});

type Headers = Readonly<Record<string, string>>;

async function count(words: readonly string[], visits: readonly Headers[]) {
  const data = await createUsedFolder();
  await using _ = data;
  await using serving = await startServe(data.path, words, {
    env: { WAYPOST_GEOIP_FILE: file, WAYPOST_COUNTRY_HEADER: "CF-IPCountry" },
  });
  await serving.call("POST", "/links", { body: { path: "spring", url: "https://shop.example/" } });
  const port = Number(new URL(serving.places.url).port);
  const host = `default.localhost:${port}`;
  for (const headers of visits) {
    expect((await visitAt(port, "/spring", { host, headers })).status).toBe(302);
  }
  await serving.stop();
  const { stats } = await runJson(["stats", "--data", data.path, "--by", "country"]);
  // The shape that the command prints.
  const rows = stats.rows as { key: string | null; clicks: number }[];
  return Object.fromEntries(rows.map(({ key, clicks }) => [key, clicks]));
}

const from = (address: string, country?: string): Headers => ({
  "x-forwarded-for": address,
  ...(country && { "cf-ipcountry": country }),
});

test("a visitor's country comes from a request header or else from the country file", async () => {
  const counted = await count(
    ["--trusted-proxies", "loopback"],
    [
      from("203.0.113.7"),
      from("2001:db8::7"),
      from("203.0.113.7", "FR"),
      from("203.0.113.7", "XX"),
      from("198.51.100.1"),
    ],
  );
  expect(counted).toMatchObject({ GB: 2, JP: 1, FR: 1 });
  expect(Object.values(counted)).toEqual([2, 1, 1, 1]);
});

test("a country header that does not come from a trusted proxy is ignored", async () => {
  const forged = { "cf-ipcountry": "FR" };
  const counted = await count(["--trusted-proxies", "10.0.0.0/8"], [forged, from("::1", "FR")]);
  expect(counted).toEqual({ DE: 1, unknown: 1 });
});

test("waypost doctor shows the name and date of the country file", async () => {
  const env = { WAYPOST_GEOIP_FILE: file };
  const { code, stdout } = await run(["doctor", "--data", folder.path], { env });
  const today = new Date().toISOString().slice(0, 10);
  expect(code).toBe(0);
  expect(stdout.split("\n")).toContain(
    `ok    countries     are read from GeoLite2-Country of ${today}`,
  );
});

test("a file that is not a country database is refused with advice on how to fix it", async () => {
  const networks = `${folder.path}-asn.mmdb`;
  const record = { "203.0.113.0/24": { autonomous_system_number: 64500 } };
  await writeCountries(networks, record, { type: "GeoLite2-ASN" });
  const text = `${folder.path}.txt`;
  await writeFile(text, "GB");
  await mkdir(`${folder.path}-folder`);
  const faults = [
    [join(folder.path, "none.mmdb"), "cannot be read: it does not exist"],
    [`${folder.path}-folder`, "cannot be read: it is a folder"],
    [text, "is not a country database; unpack the download"],
    [networks, "(GeoLite2-ASN) has no countries; use a country or city database"],
  ] as const;
  for (const [path, fault] of faults) {
    const words = ["--data", folder.path, "--geoip-file", path];
    const said = `--geoip-file (WAYPOST_GEOIP_FILE): ${path} ${fault}`;
    const doctor = await run(["doctor", ...words]);
    expect([doctor.code, doctor.stdout]).toEqual([
      1,
      expect.stringContaining(`FAULT countries     ${said}`),
    ]);
    const serve = await run(["serve", "--port", "0", ...words]);
    expect([serve.code, serve.stderr]).toEqual([2, expect.stringContaining(said)]);
  }
});
