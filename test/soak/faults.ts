import type { Fault } from "./fault.ts";
import { fullDisk } from "./faults/full-disk.ts";
import { fullPostgres } from "./faults/full-postgres.ts";
import { remoteProxy } from "./faults/remote-proxy.ts";
import { longMessage } from "./faults/long-message.ts";
import { closedPipe } from "./faults/closed-pipe.ts";
import { damagedFile } from "./faults/damaged-file.ts";
import { kill } from "./faults/kill.ts";
import { manyClients } from "./faults/many-clients.ts";
import { manyKeys } from "./faults/many-keys.ts";
import { postgresProxy } from "./faults/postgres-proxy.ts";
import { restartPostgres } from "./faults/restart-postgres.ts";
import { slowSockets } from "./faults/slow-sockets.ts";
import { twoServers } from "./faults/two-servers.ts";

/** All faults, in the order in which they are played. */
export const faults: readonly Fault[] = [
  kill,
  restartPostgres,
  fullDisk,
  fullPostgres,
  damagedFile,
  twoServers,
  postgresProxy,
  remoteProxy,
  manyClients,
  slowSockets,
  manyKeys,
  longMessage,
  closedPipe,
];
