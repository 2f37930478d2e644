// Drive a device with ya-webadb: `server PORT SERIAL` through an adb server, `daemon PORT` without one. What it saw as JSON.
import { Adb, AdbDaemonTransport, AdbPacket, AdbPacketSerializeStream, AdbServerClient } from '@yume-chan/adb';
import { AdbServerNodeTcpConnector } from '@yume-chan/adb-server-node-tcp';
import { MaybeConsumable, ReadableStream, StructDeserializeStream, pipeFrom } from '@yume-chan/stream-extra';
import net from 'node:net';
import { Duplex } from 'node:stream';

const [way, port, serial] = process.argv.slice(2);

async function throughServer() {
  const client = new AdbServerClient(new AdbServerNodeTcpConnector({ host: '127.0.0.1', port: Number(port) }));
  return client.createAdb({ serial });
}

async function toDaemon() {
  const socket = net.connect(Number(port), '127.0.0.1');
  await new Promise((resolve) => socket.once('connect', resolve));
  const { readable, writable } = Duplex.toWeb(socket);
  const writer = writable.getWriter();
  const connection = {
    readable: readable.pipeThrough(new StructDeserializeStream(AdbPacket)),
    writable: pipeFrom(new MaybeConsumable.WritableStream({ write: (chunk) => writer.write(chunk) }), new AdbPacketSerializeStream()),
  };
  const credentialStore = { generateKey: () => Promise.reject(new Error('no key')), *iterateKeys() {} };
  return new Adb(await AdbDaemonTransport.authenticate({ serial: 'simulated', connection, credentialStore }));
}

async function pasted(adb) {
  const shell = await adb.subprocess.shellProtocol.pty();
  const writer = shell.input.getWriter();
  await writer.write(new TextEncoder().encode('echo one\necho two\nexit\n'));
  const reader = shell.output.getReader();
  let text = '';
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) text += new TextDecoder().decode(piece.value);
  return text;
}

async function files(adb) {
  const sync = await adb.sync();
  const data = new Uint8Array(1_000_000).fill(7);
  await sync.write({ filename: '/sdcard/file', file: new ReadableStream({ start: (c) => (c.enqueue(data), c.close()) }) });
  let size = 0;
  const reader = sync.read('/sdcard/file').getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) size += piece.value.length;
  const names = (await sync.readdir('/sdcard')).map((entry) => entry.name);
  const seen = [size, Number((await sync.stat('/sdcard/file')).size), names.includes('file'), await sync.isDirectory('/sdcard/')];
  await sync.dispose();
  return seen;
}

const adb = await (way === 'server' ? throughServer() : toDaemon());
const picture = await adb.framebuffer();
const reversed = await adb.reverse.addExternal('tcp:0', 'tcp:7790');
const listed = (await adb.reverse.list()).map((row) => [row.localName, row.remoteName]);
await adb.reverse.remove(reversed);
const seen = {
  shell: await adb.subprocess.noneProtocol.spawnWaitText('echo hi'),
  v2: await adb.subprocess.shellProtocol.spawnWaitText('echo out; echo err >&2; exit 7'),
  model: await adb.getProp('ro.product.model'),
  pasted: await pasted(adb),
  files: await files(adb),
  picture: [picture.width, picture.height, picture.data.length],
  reversed: [listed.length, listed[0][0] === reversed, listed[0][1], (await adb.reverse.list()).length],
  closed: await adb.createSocket('tcp:9').then(() => 'opened', () => 'closed'),
};
console.log(JSON.stringify(seen));
process.exit(0);
