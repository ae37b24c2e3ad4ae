// fetch.cjs fetch|undici|http2|ws: does $STEPS against $BASE, and says what came of each.
const crypto = require('node:crypto');
const fs = require('node:fs');
const zlib = require('node:zlib');

const { BASE } = process.env;
const posted = fs.readFileSync('posted');
const sha256 = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex');
const whole = async (stream) => {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
};

// Each asks and gives: protocol, status, headers by name, the body as something to iterate over.
const kinds = {
  fetch: async (method, path, headers, body) => {
    const answer = await fetch(BASE + path, { method, headers, body });
    return ['-', answer.status, (name) => answer.headers.get(name), answer.body ?? []];
  },
  undici: async (method, path, headers, body) => {
    const answer = await require('undici').request(BASE + path, { method, headers, body });
    const coded = answer.headers['content-encoding'] === 'gzip';
    const content = coded ? answer.body.pipe(zlib.createGunzip()) : answer.body;
    return ['-', answer.statusCode, (name) => answer.headers[name], content];
  },
  http2: async (method, path, headers, body) => {
    kinds.session ??= require('node:http2').connect(BASE);
    const stream = kinds.session.request({ ':method': method, ':path': path, ...headers });
    stream.end(body);
    const answer = await new Promise((resolve, reject) => {
      stream.on('response', resolve).on('error', reject);
    });
    const coded = answer['content-encoding'] === 'gzip';
    const content = coded ? stream.pipe(zlib.createGunzip()) : stream;
    return [kinds.session.alpnProtocol, answer[':status'], (name) => answer[name], content];
  },
};
const steps = {
  large: ['GET', '/large', {}],
  gzip: ['GET', '/gzip', { 'accept-encoding': 'gzip' }],
  chunked: ['GET', '/chunked', {}],
  range: ['GET', '/large', { range: 'bytes=1000-1999' }],
  head: ['HEAD', '/large', {}],
  echo: ['POST', '/echo', {}, posted],
};

const socket = () =>
  new Promise((resolve, reject) => {
    const { WebSocket } = require('ws');
    const socket = new WebSocket(`${BASE.replace('https', 'wss')}/websocket`);
    let text;
    socket.on('error', reject);
    socket.on('open', () => socket.send('hello'));
    socket.on('message', (data, binary) => {
      if (!binary) {
        text = data;
        return socket.send(posted);
      }
      socket.on('close', () => resolve(['-', 101, `${text} ${sha256(data)}`]));
      socket.close(1000);
    });
  });

const events = async (ask) => {
  const [protocol, status, , body] = await ask('GET', '/events', {});
  const words = [];
  for await (const piece of body) {
    words.push(...[...Buffer.from(piece).toString().matchAll(/data: (\S+)/g)].map((m) => m[1]));
    if (words.length === 1) await whole((await ask('POST', '/seen', {}, ''))[3]);
  }
  return [protocol, status, words.join(' ')];
};

const together = async (ask) => {
  const one = async (n) => {
    const [protocol, status, , body] = await ask('GET', `/large?${n + 1}`, {});
    return [protocol, status, sha256(await whole(body))].join(' ');
  };
  const all = await Promise.all(Array.from({ length: 12 }, (_, n) => one(n)));
  return [...new Set(all)];
};

(async () => {
  const ask = kinds[process.argv[2]];
  for (const step of process.env.STEPS.split(' ')) {
    let said;
    if (step === 'websocket') said = await socket();
    else if (step === 'events') said = await events(ask);
    else if (step === 'together') said = await together(ask);
    else {
      const [protocol, status, header, body] = await ask(...steps[step]);
      const bytes = await whole(body);
      said = [protocol, status, step === 'head' ? header('content-length') : sha256(bytes)];
    }
    console.log(step, ...said);
  }
  kinds.session?.close();
})();
