import { createSocket } from "node:dgram";
import { once } from "node:events";

/** A DNS server on loopback with TXT records, and an environment that uses it. */
export type DnsServer = {
  /** The records by name, which a test can change. */
  readonly records: Map<string, readonly string[]>;
  readonly env: Readonly<Record<string, string>>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

const [noError, noSuchName] = [0, 3];
const typeTxt = 16;

export async function startDnsServer(): Promise<DnsServer> {
  const records: DnsServer["records"] = new Map();
  const socket = createSocket("udp4");
  socket.on("message", (query, { address, port }) => {
    socket.send(answerQuery(query, records), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const server = `127.0.0.1:${socket.address().port}`;
  const preload = `import { setServers } from "node:dns"; setServers(["${server}"]);`;
  return {
    records,
    env: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(preload)}` },
    [Symbol.asyncDispose]: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

/** RFC 1035: the header, the unchanged question, and a TXT answer for each text. */
function answerQuery(query: Buffer, records: DnsServer["records"]): Buffer {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const question = query.subarray(12, at + 5);
  const texts = records.get(labels.join(".").toLowerCase());
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | (texts === undefined ? noSuchName : noError), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(texts?.length ?? 0, 6);
  const answers = (texts ?? []).map((text) => {
    const data = Buffer.concat([Buffer.from([text.length]), Buffer.from(text, "latin1")]);
    const start = Buffer.alloc(12);
    // A pointer to the name in the question.
    start.writeUInt16BE(0xc00c, 0);
    start.writeUInt16BE(typeTxt, 2);
    start.writeUInt16BE(1, 4);
    start.writeUInt32BE(60, 6);
    start.writeUInt16BE(data.length, 10);
    return Buffer.concat([start, data]);
  });
  return Buffer.concat([header, question, ...answers]);
}
