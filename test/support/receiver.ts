import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { expect } from "vitest";
import { openServer } from "./ports.ts";

/** Use this for a receiver of webhooks: a local server over plain HTTP. */

export type WebhookCall = {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // Tests read messages as freely as a receiver in any language would.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
};

/** Responds to a message. If it does nothing, the webhook gets no response. */
export type Responder = (response: ServerResponse, received: WebhookCall) => void;

export async function startReceiver(first: Responder = take) {
  const received: WebhookCall[] = [];
  let answer = first;
  const watchers = new Set<() => void>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      const one = { headers: request.headers, text, body: JSON.parse(text) };
      received.push(one);
      answer(response, one);
      for (const look of watchers) look();
    });
    request.on("error", () => undefined);
  });
  const { port, url, [Symbol.asyncDispose]: close } = await openServer(server);
  return {
    port,
    url: `${url}/hook?for=tests`,
    received,
    listTypes: () => received.map(({ body }) => body.type),
    doing: (next: Responder) => {
      answer = next;
    },
    untilReceived: (count: number) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (received.length < count) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
      }),
    [Symbol.asyncDispose]: close,
  };
}

export type TestReceiver = Awaited<ReturnType<typeof startReceiver>>;

export const take: Responder = (response) => void response.writeHead(204).end();
export const refuse: Responder = (response) => void response.writeHead(500).end();
export const hang: Responder = () => undefined;

/** Checks a Standard Webhooks signature with an implementation of HMAC that is not ours. */
export async function expectSigned({ headers, text }: WebhookCall, secret: string): Promise<void> {
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signature } = headers;
  expect(id).toMatch(/^evt_[\w-]+$/);
  expect(at).toMatch(/^\d{10}$/);
  const [version, signed = ""] = String(signature).split(",");
  expect(version).toBe("v1");
  const bytes = Buffer.from(secret.slice("whsec_".length), "base64");
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes, hmac, false, ["verify"]);
  const content = new TextEncoder().encode(`${String(id)}.${String(at)}.${text}`);
  expect(await crypto.subtle.verify("HMAC", key, Buffer.from(signed, "base64"), content)).toBe(
    true,
  );
}
