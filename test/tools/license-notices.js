import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Writes the licenses of the packages that the bundles contain, as these licenses require. */
export function writeLicenseNotices(file, folders) {
  const sorted = [...folders].toSorted((one, other) => one.localeCompare(other));
  const notices = sorted.map((folder) => {
    const path = join(folder, "package.json");
    const { name, version, license, author } = JSON.parse(readFileSync(path, "utf8"));
    return `${name} ${version} (${license})\n\n${readLicense(folder, author?.name ?? author)}`;
  });
  writeFileSync(file, `${notices.join(`\n\n${"-".repeat(80)}\n\n`)}\n`);
}

function readLicense(folder, author) {
  const name = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  if (name !== undefined) return readFileSync(join(folder, name), "utf8").trim();
  return `Copyright ${author}. The package has no license file of its own.`;
}
