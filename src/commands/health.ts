import { request } from "node:http";
import type { Config } from "../config.ts";
import { say } from "./terminal/output.ts";

const within_ms = 3000;

/** `waypost health`: whether `waypost serve` on this machine is ready. Containers run it. */
export async function runHealth({ host, port }: Pick<Config, "host" | "port">): Promise<boolean> {
  const fault = await findFault(host, port);
  say(fault === undefined ? `Waypost is ready at port ${port}.` : `Not ready: ${fault}.`);
  return fault === undefined;
}

function findFault(host: string, port: number): Promise<string | undefined> {
  const isEverywhere = host === "0.0.0.0" || host === "::";
  const place = { host: isEverywhere ? "localhost" : host, port, path: "/readyz" };
  const headers = { host: "localhost" };
  return new Promise((resolve) => {
    const asked = request({ ...place, headers, timeout: within_ms }, (response) => {
      response.resume();
      const { statusCode = 0 } = response;
      resolve(statusCode === 200 ? undefined : `port ${port} answers ${statusCode}`);
    });
    asked.on("timeout", () => asked.destroy(new Error(`no answer within ${within_ms / 1000} s`)));
    asked.on("error", ({ message }) => resolve(message));
    asked.end();
  });
}
