// SPDX-License-Identifier: Apache-2.0
//
// The memory report's script: the step under the pointer or selected by the step control, the tensors whose
// names contain a text, and the budget. `top` has the markup of MemoryPage(), `data` is its JSON. Text
// enters the page only as text nodes. Pages of the program and web/ run it.
function neapMemory(top,data){
"use strict";
const num=n=>n.toString().replace(/\B(?=(\d{3})+(?!\d))/g,",");
const add=(to,name,text,cls)=>{const e=document.createElement(name);e.textContent=text;if(cls)e.className=cls;to.appendChild(e);return e};
const liveAt=(run,s)=>run.buffers.map((b,i)=>({b,i})).filter(x=>x.b[3]<=s&&s<x.b[4]&&x.b[2]>0).sort((x,y)=>y.b[2]-x.b[2]);
const sum=live=>live.reduce((total,l)=>total+l.b[2],0);
// Names of tensors with their bytes, at most `max` of them.
function list(to,live,max,between,last){
  live.slice(0,max).forEach((l,i)=>{
    if(i>0)add(to,"span",between);
    const e=add(to,"span",l.b[6]);
    if(l.b[6]!==l.b[0])e.title=l.b[0];
    add(to,"span","\u00a0"+num(l.b[2]));
  });
  if(live.length>max)add(to,"span",last+(live.length-max)+" more\u00a0"+num(sum(live.slice(max))));
}
// Shared bytes, and bytes that are no tensor's: with them the list adds up to the live bytes.
function rest(to,run,s,live){
  const n=run.live[s]-sum(live);
  if(n<0)add(to,"span"," \u2212 "+num(-n)+" shared or not stored");
  if(n>0)add(to,"span"," + "+num(n)+(run.streamed?" unused":" scratch"));
}
const views=data.runs.map((run,r)=>{
  const root=top.querySelector('[data-run="'+r+'"]');
  const view={run,root,shown:root.querySelector(".shown"),step:root.querySelector("input.step"),peak:root.querySelector(".control button")};
  view.charts=[...root.querySelectorAll("figure.steps .chart")].map(svg=>({svg,plane:svg.querySelector(".plane"),ground:svg.querySelector(".ground"),
    cursor:svg.querySelector(".cursor"),line:svg.querySelector(".budget"),over:svg.querySelector(".over")}));
  view.rects=new Map([...root.querySelectorAll("rect.b")].map(e=>[Number(e.dataset.i),e]));
  return view;
});
const y=(plane,bytes)=>Number(plane.dataset.height)*(1-Math.min(1,bytes/Number(plane.dataset.max)));
function show(view,s){
  const run=view.run,n=run.live.length;
  if(n===0)return;
  s=Math.max(0,Math.min(n-1,s));
  const live=liveAt(run,s);
  for(const e of view.rects.values())e.classList.remove("lit");
  for(const l of live){const e=view.rects.get(l.i);if(e)e.classList.add("lit")}
  for(const chart of view.charts){
    chart.cursor.setAttribute("x",100*s/n+"%");chart.cursor.setAttribute("width",100/n+"%");
  }
  const text="Step "+(run.numbers?run.numbers[s]:s)+" of "+run.all_steps+", "+run.steps[s]+": "+num(run.live[s])+" B live";
  view.step.value=s;
  view.step.setAttribute("aria-valuetext",text);
  view.shown.replaceChildren();
  add(view.shown,"strong",text+". ");
  list(view.shown,live,8," + "," + ");
  rest(view.shown,run,s,live);
}
for(const view of views){
  if(!view.step)continue;
  view.step.addEventListener("input",()=>show(view,Number(view.step.value)));
  view.peak.addEventListener("click",()=>show(view,view.run.peak_step));
  for(const chart of view.charts)chart.svg.addEventListener("pointermove",e=>{
    const box=chart.ground.getBoundingClientRect();
    show(view,Math.floor((e.clientX-box.left)/box.width*view.run.live.length));
  });
  show(view,view.run.peak_step);
}
// The tensors of every run whose names contain the text of the search field, largest first.
const find=top.querySelector("#find"),found=top.querySelector("#found"),MAX_FOUND=12;
function foundTable(view,hits){
  const table=document.createElement("table"),head=add(table,"tr","");
  for(const title of ["tensor","type","bytes","steps","offset"])add(head,"th",title,title==="bytes"||title==="offset"?"n":"");
  for(const hit of hits.slice(0,MAX_FOUND)){
    const [name,shape,bytes,first,last,offset,short]=hit.b,row=add(table,"tr",""),number=s=>view.run.numbers?view.run.numbers[s]:s;
    const cell=add(add(row,"td","","name"),"span",short);
    if(short!==name)cell.title=name;
    add(row,"td",shape);add(row,"td",num(bytes),"n");
    const button=add(add(row,"td","","n"),"button",number(first)+" to "+number(last-1));
    button.type="button";button.title="Go to step "+number(first);
    button.addEventListener("click",()=>show(view,first));
    add(row,"td",offset<0?"-":num(offset),"n");
  }
  return table;
}
function search(){
  const text=find.value.trim().toLowerCase();
  found.replaceChildren();
  for(const view of views){
    const hits=text===""?[]:view.run.buffers.map((b,i)=>({b,i})).filter(x=>x.b[0].toLowerCase().includes(text)).sort((x,y)=>y.b[2]-x.b[2]);
    const lit=new Set(hits.map(x=>x.i));
    for(const [i,e] of view.rects)e.classList.toggle("hit",lit.has(i));
    if(text==="")continue;
    const p=add(found,"p","");
    add(p,"strong",view.run.title+": ");
    add(p,"span",hits.length===0?"no tensor has this text in its name.":hits.length+(hits.length===1?" tensor":" tensors")+
      (hits.length>MAX_FOUND?", the "+MAX_FOUND+" largest:":":"));
    if(hits.length===0)continue;
    const box=add(found,"div","","scroll");
    box.tabIndex=0;box.setAttribute("role","region");box.setAttribute("aria-label","Tensors found, "+view.run.title);
    box.appendChild(foundTable(view,hits));
  }
}
find.addEventListener("input",search);
const slider=top.querySelector("#budget"),out=top.querySelector("#verdict");
function area(plane,live,budget){
  let d="";
  for(let s=0;s<live.length;s++)if(live[s]>budget){
    d+="M"+s+" "+y(plane,budget)+"V"+y(plane,live[s])+"H"+(s+1)+"V"+y(plane,budget)+"Z";
  }
  return d;
}
function budget(){
  const bytes=Number(slider.value);
  out.replaceChildren();
  top.querySelector("#budget-value").textContent=num(bytes)+" B";
  slider.setAttribute("aria-valuetext",num(bytes)+" bytes");
  for(const view of views){
    const run=view.run,arena=run.arena_bytes,fits=(arena>0?arena:run.peak_bytes)<=bytes;
    for(const chart of view.charts){
      chart.line.setAttribute("y1",y(chart.plane,bytes));chart.line.setAttribute("y2",y(chart.plane,bytes));chart.line.removeAttribute("visibility");
      if(chart.over)chart.over.setAttribute("d",fits?"":area(chart.plane,run.live,bytes));
    }
    const over=run.live.filter(l=>l>bytes).length,p=add(out,"p","");
    add(p,"strong",run.title+": ");
    if(fits){add(p,"span","fits.","good");continue}
    if(over===0){add(p,"span","every step fits, but the arena needs "+num(arena)+" B.","bad");continue}
    const worst=run.peak_step,live=liveAt(run,worst);
    add(p,"span",over+" of "+run.live.length+(run.numbers?" drawn":"")+" steps exceed"+(over===1?"s":"")+" the budget, by at most "+num(run.live[worst]-bytes)+" B","bad");
    add(p,"span"," ("+run.steps[worst]+"). Live there: ");
    list(p,live,6,", ",", and ");
    add(p,"span",".");
  }
}
slider.addEventListener("input",budget);
budget();
}
