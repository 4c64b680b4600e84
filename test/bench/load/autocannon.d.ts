/** What the bench uses of autocannon, which brings no types of its own. */
declare module "autocannon" {
  import type { EventEmitter } from "node:events";

  type Request = {
    method?: "GET" | "POST";
    path?: string;
    headers?: Record<string, string>;
    body?: string;
    /** Called before each request: what it answers is sent. */
    setupRequest?: (request: Request) => Request;
  };

  type Options = {
    url: string;
    connections: number;
    /** In seconds. */
    duration?: number;
    /** How many requests, instead. */
    amount?: number;
    requests: Request[];
  };

  type Result = {
    errors: number;
    timeouts: number;
  };

  /** Emits `response` with client, status, bytes and milliseconds of each answer. */
  export default function autocannon(
    options: Options,
    done: (error: Error | null, result: Result) => void,
  ): EventEmitter;
}
