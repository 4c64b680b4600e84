import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Writes the licenses of the packages that the bundles contain, as these licenses require. */
export function writeLicenseNotices(file, packages) {
  const folders = new Set([...packages, ...listEmbedded(packages)]);
  const sorted = [...folders].toSorted((one, other) => one.localeCompare(other));
  const notices = sorted.map((folder) => {
    const path = join(folder, "package.json");
    const { name, version, license, author } = JSON.parse(readFileSync(path, "utf8"));
    return `${name} ${version} (${license})\n\n${readLicense(folder, author?.name ?? author)}`;
  });
  writeFileSync(file, `${notices.join(`\n\n${"-".repeat(80)}\n\n`)}\n`);
}

/** Packages whose code is inside the file of another package, where no bundler sees them. */
function listEmbedded(packages) {
  const css = [...packages].find((folder) => /(^|\/)node_modules\/css-tree$/.test(folder));
  if (css === undefined) return [];
  return ["mdn-data", "source-map-js"].map((name) => join(dirname(css), name));
}

function readLicense(folder, author) {
  const files = readdirSync(folder);
  const name = files.find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  if (name !== undefined) return readFileSync(join(folder, name), "utf8").trim();
  const readme = files.find((entry) => /^readme/i.test(entry));
  const text = readme === undefined ? "" : readFileSync(join(folder, readme), "utf8");
  const [, section] = /^#+ *licen[cs]e[^\n]*\n([\s\S]+)/im.exec(text) ?? [];
  if (section !== undefined) return section.trim();
  return `Copyright ${author}. The package has no license file of its own.`;
}
