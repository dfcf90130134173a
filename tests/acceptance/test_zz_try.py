import shutil, time
from tests.acceptance.installation import Installation
def test_try(prefect_server, mail, tmp_path, sqlite_template):
    t=time.time()
    shutil.copyfile(sqlite_template, tmp_path/"placet.db")
    inst=Installation(tmp_path, prefect_server.api_url, mail)
    try:
        print("setup", time.time()-t)
        ada=inst.add_reviewer("ada"); inst.add_ticket("t-1")
        print("setup", time.time()-t)
        p=inst.start_local("r1","t-1")
        from blocks.ledger.sessions import workflow_id
        wf=workflow_id("r1")
        f=inst.wait_until_asked(wf)
        print("asked", time.time()-t, inst.holder(wf), p.pid)
        print(inst.run_of(wf).resume(inst.fill_in(f,"approve",ada)))
        print(inst.wait_until_closed(wf), time.time()-t)
        print(p.wait(), time.time()-t, p.said())
        print(inst.mails("t-1"))
        t=time.time()
        print(inst.command("audit","verify","--json"), time.time()-t)
        print(inst.command("status",wf), time.time()-t)
        print(inst.command("decide","x","approve","--as","x"), time.time()-t)
        print(inst.decide(inst.item(wf),"approve",ada), time.time()-t)
    finally:
        inst.close()
