import { isLegacyRequest } from "@modelcontextprotocol/server";
import { findAddressGroup } from "../../network/ip-address.ts";
import { readLength, type Incoming } from "../../network/read-at-most.ts";
import { long_bytes, weighMessage, type CallLimits, type CallOrigin } from "./call-limits.ts";
import type { Turn } from "./direct-calls.ts";
import type { BegunCall, DirectHttp } from "./direct-http.ts";
import type { InFlight } from "./in-flight.ts";
import type { KeyConnections } from "./key-connections.ts";
import type { Place } from "./line.ts";
import { listRequestIds } from "./open-ids.ts";
import { readMessage, type Message } from "./read-message.ts";
import {
  refuseCalls,
  refuseFull,
  refuseLong,
  refuseStopping,
  respondToNobody,
} from "./refusals.ts";
import { answerUntilEnd } from "./response-end.ts";
import type { SessionLimits } from "./session-limits.ts";

/** Answers a caller that is known: what it sends is read as there is room, and has its turn. */

/** What only listens, each with what ends it; once it is over, nobody may any more. */
export type Listening = { isOver: boolean; readonly endings: Set<AbortController> };

type Arrived = {
  readonly request: Request;
  readonly from: CallOrigin;
  readonly incoming: Incoming | undefined;
  readonly limits: SessionLimits;
  readonly callLimits: CallLimits;
  readonly direct: DirectHttp;
  readonly listening: Listening;
};

type Received = Arrived & BegunCall & { readonly onAsking?: () => void };

export async function receive(arrived: Arrived, connected: KeyConnections): Promise<Response> {
  const { request, from, listening } = arrived;
  if (request.method === "POST") return receivePost(arrived, connected);
  const { listeners, sessions } = connected;
  const { client } = from;
  const answer = () => sessions.fetch({ request, client, body: undefined, bytes: 0 });
  return request.method === "GET" ? trackListening(listeners, answer, listening) : answer();
}

async function receivePost(posted: Arrived, connected: KeyConnections): Promise<Response> {
  const begun = beginCall(connected, posted.from, posted.callLimits);
  if (begun === undefined) return refuseCalls();
  return answerUntilEnd(() => readAndAnswer({ ...posted, ...begun }, connected), begun.end);
}

export function readOrigin(
  { key_print, sessions }: KeyConnections,
  address: string | undefined,
  session: string | undefined,
): CallOrigin {
  // One user of a gateway is told from another by address alone.
  const client = `${key_print} ${findAddressGroup(address ?? "")}`;
  const isOpen = session !== undefined && sessions.has(session);
  return { key_print, client, session: isOpen ? session : undefined };
}

/** Counts a call until its end. */
export function beginCall(
  { calls, work }: KeyConnections,
  from: CallOrigin,
  { admit }: CallLimits,
): BegunCall | undefined {
  const leave = admit(from);
  if (leave === undefined) return undefined;
  const exchange = {};
  calls.begin(exchange);
  const who = from.session ?? from.client;
  return {
    turn: { enter: () => work.enter({ who }), wait: (givenUp) => work.wait({ who }, givenUp) },
    end: () => {
      calls.end(exchange);
      leave();
    },
  };
}

async function readAndAnswer(received: Received, connected: KeyConnections): Promise<Response> {
  const { request, incoming, from, limits, callLimits, direct } = received;
  const message = incoming ?? request;
  const length = readLength(message);
  let room: Place | undefined;
  let isRefused = false;
  let aside: ReturnType<SessionLimits["admitStream"]>;
  const until = async () => {
    const wanted = { who: from.key_print, weight: weighMessage(length) };
    room = await callLimits.awaitRoom(wanted, request.signal);
    isRefused = room === undefined;
    return !isRefused;
  };
  const end = () => {
    room?.leave();
    aside?.release();
    [room, aside] = [undefined, undefined];
    received.end();
  };
  const answer = async () => {
    const read = await (direct.take(message) ?? readMessage(message, { after: long_bytes, until }));
    if (isRefused) return request.signal.aborted ? respondToNobody() : refuseLong();
    // One that does not tell its length took as much as the longest.
    if (!(read instanceof Response)) room?.keep(weighMessage(read.bytes));
    // What waits for a person keeps no room from others, but counts as what listens does.
    const onAsking = () => {
      if (room === undefined || aside !== undefined || read instanceof Response) return;
      aside = limits.admitStream(from.client, read.bytes);
      if (aside !== undefined) room.leave();
    };
    // What listens is counted by itself, however long its message was.
    return answerMessage(read, { ...received, end, onAsking }, connected);
  };
  return answerUntilEnd(answer, end);
}

async function answerMessage(
  read: Message | Response,
  { request, from, limits, turn, end, listening, onAsking }: Received,
  { listeners, sessions, modern }: KeyConnections,
): Promise<Response> {
  if (read instanceof Response) return read;
  const { body, bytes } = read;
  const { client } = from;
  const asked = { request, client, body, bytes, onAsking };
  const isLegacy = await isLegacyRequest(request, body);
  const answer = (ownTurn?: Turn) => {
    if (isLegacy) return sessions.fetch({ ...asked, turn: ownTurn });
    return answerInTurn(() => modern.fetch(request, { parsedBody: body }), request, ownTurn);
  };
  if (isListen(body)) {
    const place = limits.admitStream(client, bytes);
    if (place === undefined) return refuseFull(body);
    end();
    return answerUntilEnd(() => trackListening(listeners, answer, listening), place.release);
  }
  // What somebody answers, or tells, has nothing to wait for: others may wait for it.
  return answer(listRequestIds(body).length > 0 ? turn : undefined);
}

async function answerInTurn(
  answer: () => Promise<Response>,
  request: Request,
  turn: Turn | undefined,
): Promise<Response> {
  if (turn === undefined) return answer();
  const place = turn.enter() ?? (await turn.wait(request.signal));
  if (place === undefined) return respondToNobody();
  return answerUntilEnd(answer, place.leave);
}

/** A stream of notifications is not answered before it ends. */
function isListen(body: unknown): boolean {
  if (typeof body !== "object" || body === null) return false;
  return "method" in body && body.method === "subscriptions/listen";
}

export function endListening(listening: Listening): void {
  listening.isOver = true;
  for (const ending of listening.endings) ending.abort();
}

/** Counts what only listens until it ends, by a stop at the latest. */
async function trackListening(
  running: InFlight<object>,
  answer: () => Promise<Response>,
  listening: Listening,
): Promise<Response> {
  if (listening.isOver) return refuseStopping();
  const ending = new AbortController();
  running.begin(ending);
  listening.endings.add(ending);
  const onEnd = () => {
    running.end(ending);
    listening.endings.delete(ending);
  };
  return answerUntilEnd(answer, onEnd, ending.signal);
}
