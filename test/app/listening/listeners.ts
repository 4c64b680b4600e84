import { mkdirSync } from "node:fs";
import { readConfig } from "../../../src/config.ts";
import {
  closeHttpServer,
  createHttpServer,
  setRequestHandlers,
} from "../../../src/app/http/http-server.ts";
import { createFolderListener } from "../../../src/app/listening/folder-listener.ts";
import { claimPort, createAnswerProcess } from "../../../src/app/listening/ask-listener.ts";
import { noHandlers } from "../../support/world.ts";
import { createFolder, type Folder } from "../../support/command.ts";
import { visit } from "../../support/listening.ts";

/** The port handling of several processes of one data folder, within the test process. */

export type Settings = {
  readonly data: string;
  readonly port: number;
  readonly host?: string;
  readonly env?: Readonly<Record<string, string>>;
};

export type Listener = {
  readonly read: () => Promise<string | undefined>;
  readonly describe: () => string | undefined;
  readonly readLinkOrigin: () => string;
  /** May be called twice. */
  readonly close: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export async function createDataFolder(): Promise<Folder> {
  const folder = await createFolder();
  mkdirSync(folder.path, { mode: 0o700 });
  return folder;
}

export function openSession(settings: Settings): Listener {
  const listener = createFolderListener({
    config: configure(settings),
    serveCommand: "waypost serve",
    report: () => undefined,
  });
  listener.setHandlers(() => noHandlers);
  return {
    read: async () => (await listener.read())?.url,
    describe: listener.describeAddresses,
    readLinkOrigin: listener.readLinkOrigin,
    close: listener.close,
    [Symbol.asyncDispose]: listener.close,
  };
}

export async function openServing(settings: Settings): Promise<Listener> {
  const config = configure(settings);
  const server = createHttpServer();
  const port = await claimPort(server, config);
  const url = `http://127.0.0.1:${port}`;
  const links = `http://{subdomain}.localhost:${port}`;
  const statement = { kind: "serve", url, links, isTemporary: false } as const;
  const { data } = config;
  const answerProcess = createAnswerProcess({ data, port }, () => statement);
  setRequestHandlers(server, { ...noHandlers, answerProcess });
  let closed: Promise<void> | undefined;
  const close = () => (closed ??= closeHttpServer(server));
  return {
    read: () => Promise.resolve(url),
    describe: () => undefined,
    readLinkOrigin: () => links,
    close,
    [Symbol.asyncDispose]: close,
  };
}

export async function isServed(url: string | undefined): Promise<boolean> {
  return url !== undefined && (await visit(`${url}/healthz`))?.status === 200;
}

function configure({ data, port, host, env = {} }: Settings) {
  return readConfig({ HOME: data, ...env }, { data, port: `${port}`, host });
}
