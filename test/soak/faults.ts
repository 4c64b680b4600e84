import type { Fault } from "./fault.ts";
import { fullDisk } from "./faults/full-disk.ts";
import { remoteProxy } from "./faults/remote-proxy.ts";
import { kill } from "./faults/kill.ts";
import { manyClients } from "./faults/many-clients.ts";
import { restartPostgres } from "./faults/restart-postgres.ts";

/** All faults, in the order in which they run. */
export const faults: readonly Fault[] = [kill, restartPostgres, fullDisk, remoteProxy, manyClients];
