// What a program does with the client that openapi-ts made of our document: list tools, call one, have a
// call approved, follow and read the journal. The types of the client are checked before it runs.
import { client } from './generated/client.gen';
import * as api from './generated';

const { URL_OF_KERNEL: baseUrl, OPERATOR, APPROVER } = process.env;
const as = (auth: string | undefined) => ({ auth, throwOnError: true as const });
client.setConfig({ baseUrl });

function check(ok: unknown, what: string): asserts ok {
  if (!ok) throw new Error(what);
}

const { data: tools } = await api.listTools(as(OPERATOR));
check(tools.some(t => t.name === 'filesystem.read'), 'no filesystem.read among the tools');

const read = await api.callTool({ ...as(OPERATOR), path: { name: 'filesystem.read' }, body: { args: { path: 'hello.txt' } } });
check(read.data.status === 'success' && JSON.stringify(read.data).includes('hello there'), 'the call gave ' + JSON.stringify(read.data));

// Records come as server-sent events while the rest goes on.
const { data: seen } = await api.readJournal({ ...as(OPERATOR), query: { newest: true, limit: 1 } });
const followed = await client.sse.get({
  url: '/v1/journal/follow', query: { after: seen[0]!.seq }, headers: { Accept: 'text/event-stream' },
  security: [{ scheme: 'bearer', type: 'http' }], auth: OPERATOR,
});

const asked = await api.callTool({
  ...as(OPERATOR), path: { name: 'shell.bash' }, headers: { 'Idempotency-Key': 'one' },
  body: { args: { command: 'echo said' }, no_wait: true },
});
check(asked.data.status === 'waiting' && asked.data.approval && asked.data.call, 'it does not wait: ' + JSON.stringify(asked.data));
const mayNot = await api.answerApproval({ auth: OPERATOR, path: { id: asked.data.approval }, body: { approve: true } });
check(mayNot.error?.kind === 'denied' && mayNot.error.status === 403, 'an operator answered: ' + JSON.stringify(mayNot));
const { data: approval } = await api.getApproval({ ...as(APPROVER), path: { id: asked.data.approval } });
check(approval.state === 'pending', 'the approval is ' + approval.state);
const answered = await api.answerApproval({ ...as(APPROVER), path: { id: approval.id }, body: { approve: true } });
check(answered.data.answer?.approve, 'the answer is ' + JSON.stringify(answered.data));
const { data: result } = await api.collectResult({ ...as(OPERATOR), path: { call: asked.data.call } });
check(result.status === 'success', 'the approved call gave ' + JSON.stringify(result));

const { data: records } = await api.readJournal({ ...as(OPERATOR), query: { call: asked.data.call } });
const kinds = records.map(r => r.kind).filter(k => k !== 'noted').join(' ');
check(kinds === 'asked answered begun ended', 'the journal has ' + kinds);
for await (const event of followed.stream) {
  const record = (event as api.Event).record;
  if (record?.call === asked.data.call && record.kind === 'ended') break;
}
console.log(`apiclient: ${tools.length} tools, a call, an approval and ${records.length} records by a generated client`);
process.exit(0);
