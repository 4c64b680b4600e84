import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";
import type { PoolClient } from "pg";

/** What the driver knows of a connection, and has no types for. */
type Cancellable = {
  readonly host: string;
  readonly port: number;
  readonly processID: number;
  readonly secretKey: number;
  readonly ssl: boolean | ConnectionOptions;
  readonly sslNegotiation: "postgres" | "direct";
};

const sslCode = 80_877_103;
const cancelCode = 80_877_102;
const patience_ms = 2_000;

/**
 * The protocol's own request (§54.2.8), on a connection that says nothing else: encrypted where
 * that of the statement is, for what stands before a server may let nothing else through.
 */
export function cancelStatement(client: PoolClient): void {
  const { host, port, processID, secretKey, ssl, sslNegotiation } =
    client as unknown as Cancellable;
  const request = writeNumbers(16, cancelCode, processID, secretKey);
  const isLocal = host.startsWith("/");
  const socket = isLocal ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  prepare(socket);
  if (ssl === false || isLocal) {
    socket.end(request);
    return;
  }
  const encrypt = () => {
    const given = ssl === true ? {} : ssl;
    const named = isIP(host) === 0 ? { servername: host } : {};
    const direct = sslNegotiation === "direct" ? { ALPNProtocols: ["postgresql"] } : {};
    const secure = connectTls({ socket, host, ...given, ...named, ...direct });
    prepare(secure);
    secure.end(request);
  };
  if (sslNegotiation === "direct") {
    socket.once("connect", encrypt);
    return;
  }
  socket.write(writeNumbers(8, sslCode));
  socket.once("data", (answer) => {
    if (answer.toString("latin1") === "S") encrypt();
    else socket.destroy();
  });
}

function prepare(socket: Socket): void {
  socket.on("error", () => undefined);
  socket.setTimeout(patience_ms, () => socket.destroy());
  socket.unref();
}

function writeNumbers(...numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(numbers.length * 4);
  numbers.forEach((number, index) => bytes.writeInt32BE(number, index * 4));
  return bytes;
}
