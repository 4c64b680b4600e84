import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** `node test/tools/release-server.js OWNER waypost.mcpb` prints server.json for the registry. */

const [owner, bundle] = process.argv.slice(2);
const digest = createHash("sha256").update(readFileSync(bundle)).digest("hex");
const text = readFileSync("server.json", "utf8").replaceAll("OWNER", owner);
const server = JSON.parse(text);
const packages = server.packages.map((each) =>
  each.registryType === "mcpb"
    ? { ...each, fileSha256: digest }
    : { ...each, identifier: each.identifier.toLowerCase() },
);
console.log(JSON.stringify({ ...server, packages }, null, 2));
