import { writeFile } from "node:fs/promises";
import { isIPv4 } from "node:net";

/** Use this to write a small country database (.mmdb, specification 2.0). */

type Value = string | number | bigint | { readonly [key: string]: Value };
export type CountryRecords = Readonly<Record<string, Value>>;

type Options = { readonly type?: string };
/** The number of another node, or the offset of a record. */
type Branch = { readonly node: number } | { readonly record: number } | undefined;

/** Networks, such as `203.0.113.0/24`, with the fields of their record in the file. */
export async function writeCountries(
  path: string,
  records: CountryRecords,
  { type = "GeoLite2-Country" }: Options = {},
): Promise<void> {
  const nodes: [Branch, Branch][] = [[undefined, undefined]];
  const data: Buffer[] = [];
  let at = 0;
  for (const [network, value] of Object.entries(records)) {
    insert(nodes, readBits(network), { record: at });
    const written = encode(value);
    data.push(written);
    at += written.length;
  }
  const metadata = {
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: BigInt(Math.floor(Date.now() / 1000)),
    database_type: type,
    description: { en: "made for a test" },
    ip_version: 6,
    node_count: nodes.length,
    record_size: 24,
  };
  const marker = Buffer.from("\xab\xcd\xefMaxMind.com", "latin1");
  const tree = nodes.map((node) => writeNode(node, nodes.length));
  await writeFile(
    path,
    Buffer.concat([...tree, Buffer.alloc(16), ...data, marker, encode(metadata)]),
  );
}

/** The file has IPv6 addresses. IPv4 addresses are the first of them. */
function readBits(network: string): readonly (0 | 1)[] {
  const [address = "", prefix = ""] = network.split("/");
  const isShort = isIPv4(address);
  const bytes = isShort ? [...Buffer.alloc(12), ...address.split(".").map(Number)] : read6(address);
  const bits = bytes.flatMap((byte) => [7, 6, 5, 4, 3, 2, 1, 0].map((bit) => (byte >> bit) & 1));
  return bits.slice(0, Number(prefix) + (isShort ? 96 : 0)) as (0 | 1)[];
}

/** Reads addresses that end with `::`, as networks do. */
function read6(address: string): readonly number[] {
  const groups = address.replace(/::$/, "").split(":");
  const bytes = groups.flatMap((group) => [parseInt(group, 16) >> 8, parseInt(group, 16) & 255]);
  return [...bytes, ...Buffer.alloc(16 - bytes.length)];
}

function insert(nodes: [Branch, Branch][], bits: readonly (0 | 1)[], leaf: Branch): void {
  let current = 0;
  for (const [depth, bit] of bits.entries()) {
    const node = nodes[current];
    if (node === undefined) return;
    if (depth === bits.length - 1) {
      node[bit] = leaf;
      return;
    }
    const next = node[bit];
    if (next !== undefined && "node" in next) current = next.node;
    else {
      current = nodes.push([undefined, undefined]) - 1;
      node[bit] = { node: current };
    }
  }
}

function writeNode(node: readonly [Branch, Branch], count: number): Buffer {
  const bytes = Buffer.alloc(6);
  for (const [side, branch] of node.entries()) {
    const inside = branch !== undefined && "node" in branch ? branch.node : count;
    const value = branch !== undefined && "record" in branch ? count + 16 + branch.record : inside;
    bytes.writeUIntBE(value, side * 3, 3);
  }
  return bytes;
}

const kinds = { string: 2, uint32: 6, map: 7 } as const;

function encode(value: Value): Buffer {
  if (typeof value === "string") {
    const bytes = Buffer.from(value);
    return Buffer.concat([writeHead(kinds.string, bytes.length), bytes]);
  }
  if (typeof value === "bigint") {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(value);
    // An extended type: type 9 is written as 2, after a byte that has no type.
    return Buffer.concat([Buffer.from([8, 2]), bytes]);
  }
  if (typeof value === "number") {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return Buffer.concat([writeHead(kinds.uint32, 4), bytes]);
  }
  const pairs = Object.entries(value).flatMap(([key, each]) => [encode(key), encode(each)]);
  return Buffer.concat([writeHead(kinds.map, Object.keys(value).length), ...pairs]);
}

function writeHead(kind: number, size: number): Buffer {
  return size < 29 ? Buffer.from([(kind << 5) | size]) : Buffer.from([(kind << 5) | 29, size - 29]);
}
